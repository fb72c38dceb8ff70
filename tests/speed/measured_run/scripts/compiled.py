"""A compiled model, and a compiled step with backward pass and optimizer inside: nothing may break or recompile."""

import torch


def main() -> None:
    torch.manual_seed(0)
    model = torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()), backend="eager")
    optimizer = torch.optim.AdamW(model.parameters(), lr=torch.tensor(0.01))

    @torch.compile(backend="eager")  # type: ignore[untyped-decorator,unused-ignore]
    def step(batch: torch.Tensor) -> torch.Tensor:
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    losses = [step(torch.ones(4, 8)).item() for _ in range(40)]
    print(losses[0] > losses[-1])


if __name__ == "__main__":
    main()
