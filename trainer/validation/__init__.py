"""What a run is judged by: loss on held-out data, answers to fixed prompts, and the weights that did best."""
