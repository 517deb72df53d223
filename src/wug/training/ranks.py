"""Several processes that train one network together, as torchrun starts them.

Every rank draws the same batch and takes its rows: rank, rank + world, and so on. The loss of a
rank is its share of the whole loss, so gradients, statistics and measures are sums over ranks.
Everything that is decided follows from numbers of rank 0. It alone writes files; they are those of
one process, so that a run may go on with another number of ranks.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from wug.core.errors import UserError
from wug.core.paths import cache_folder

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

# Gradients are summed in pieces of so many numbers.
BUCKET = 8_000_000
TIMEOUT = timedelta(hours=2)  # ranks wait while rank 0 opens a large run


class Ranks:
    """This process among those that train one network; alone by default.

    Args:
        rank: Its number.
        world: How many there are.
        local: Its number on its machine, which is that of its GPU.
    """

    def __init__(self, rank: int = 0, world: int = 1, local: int = 0) -> None:
        self.rank, self.world, self.local = rank, world, local
        self._mesh: DeviceMesh | None = None

    @property
    def first(self) -> bool:
        """Whether this is rank 0, which writes."""
        return self.rank == 0

    @property
    def several(self) -> bool:
        """Whether there are others."""
        return self.world > 1

    def mesh(self, kind: str) -> DeviceMesh:
        """Return all ranks in a row, over which weights are cut; of one kind of device."""
        from torch.distributed.device_mesh import init_device_mesh

        if self._mesh is None:
            self._mesh = init_device_mesh(kind, (self.world,))
        return self._mesh

    def rows(self, tree: Any) -> Any:
        """Return this rank's rows of tensors.

        Example:
            >>> Ranks(1, 2).rows({"x": torch.arange(4)})["x"].tolist()
            [1, 3]
        """
        if not self.several:
            return tree
        return pytree.tree_map_only(Tensor, lambda x: x[self.rank :: self.world], tree)

    def all_rows(self, tree: Any) -> Any:
        """Return the rows of all ranks, in the order of the whole; all ranks have as many."""
        return pytree.tree_map_only(Tensor, self._all_rows, tree) if self.several else tree

    def _all_rows(self, mine: Tensor) -> Tensor:
        pieces = [torch.empty_like(mine) for _ in range(self.world)]
        dist.all_gather(pieces, mine.contiguous())
        return torch.stack(pieces, 1).flatten(0, 1)

    def sum_(self, tensor: Tensor) -> Tensor:
        """Replace a tensor by its sum over ranks."""
        if self.several:
            dist.all_reduce(tensor)
        return tensor

    def same(self, value: Any) -> Any:
        """Return what rank 0 has: plain data, not tensors."""
        if not self.several:
            return value
        box = [value if self.first else None]
        dist.broadcast_object_list(box, 0)
        return box[0]

    def same_tensors(self, tensors: dict[str, Tensor] | None, device: torch.device) -> Any:
        """Return rank 0's tensors by name, one after the other; None if it has none."""
        if not self.several:
            return tensors
        shapes = None if tensors is None else {
            name: (tuple(value.shape), value.dtype) for name, value in tensors.items()
        }  # fmt: skip
        shapes = self.same(shapes)
        if shapes is None:
            return None
        found = {}
        for name, (shape, dtype) in shapes.items():
            if self.first and tensors is not None:
                value = tensors[name].to(device).contiguous()
            else:
                value = torch.empty(shape, dtype=dtype, device=device)
            dist.broadcast(value, 0)
            found[name] = value.cpu()
        return found

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace the gradients by their sums over ranks; one that no rank has stays None."""
        every = [parameter for parameter in parameters if parameter.requires_grad]
        if not self.several or not every:
            return
        has = torch.tensor([p.grad is not None for p in every], device=every[0].device).int()
        dist.all_reduce(has)
        used = [p for p, count in zip(every, has.tolist(), strict=True) if count]
        bucket: list[Tensor] = []
        for parameter in used:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            full = sum(gradient.numel() for gradient in bucket) + parameter.numel() > BUCKET
            if bucket and (full or bucket[0].dtype != parameter.dtype):
                _sum_bucket(bucket)
                bucket = []
            bucket.append(parameter.grad)
        if bucket:
            _sum_bucket(bucket)

    def require_shares(self, lot: str, rows: int, parts: int) -> None:
        """Raise unless the rows of every part of a batch can be shared evenly.

        Raises:
            UserError: They can't.
        """
        if rows % (parts * self.world):
            raise UserError(
                f"Lot {lot}: its {rows} rows in {parts} parts can't be shared by {self.world} "
                "processes; choose a number of processes that divides the rows of a part."
            )


def _sum_bucket(gradients: list[Tensor]) -> None:
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    pieces = flat.split([gradient.numel() for gradient in gradients])
    for gradient, piece in zip(gradients, pieces, strict=True):
        gradient.copy_(piece.view_as(gradient))


_here = Ranks()


def here() -> Ranks:
    """Return this process among its ranks."""
    return _here


def asked_for() -> int:
    """Return how many processes torchrun started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def join(device: str) -> Ranks:
    """Meet the other ranks that torchrun started.

    Args:
        device: A torch device; ranks on GPUs talk by nccl, others by gloo.
    """
    global _here
    if asked_for() > 1 and not dist.is_initialized():
        # Imported while there is a group, torch's functions would keep it as a default argument.
        import torch.distributed.fsdp

        kind = torch.device(device).type
        dist.init_process_group("nccl" if kind == "cuda" else "gloo", timeout=TIMEOUT)
        _here = Ranks(dist.get_rank(), dist.get_world_size(), int(os.environ["LOCAL_RANK"]))
        if kind == "cuda":
            torch.cuda.set_device(_here.local)
        if _here.local:  # ranks that compile the same programs would wait for each other's files
            own = cache_folder() / f"programs-of-rank-{_here.local}"
            os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(own))
    return _here


def leave() -> None:
    """Part from the other ranks, once all are here.

    Torch's caches keep the mesh of sharded weights for ever, and the mesh keeps the group: its
    threads would outlive `destroy_process_group`, and one that still lets go of a tensor while
    Python ends aborts the process. So the mesh lets go of the group.
    """
    global _here
    if dist.is_available() and dist.is_initialized():
        dist.barrier()
        if _here._mesh is not None:
            getattr(_here._mesh, "_pg_registry", {}).clear()
        dist.destroy_process_group()
        gc.collect()  # sharded networks hold the group, in cycles
    _here = Ranks()
