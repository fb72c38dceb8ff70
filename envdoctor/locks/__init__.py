"""What is locked and wished for: stacks, targets, and the choice among them."""
