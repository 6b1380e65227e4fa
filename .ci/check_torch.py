"""Keeps a machine without an NVIDIA GPU from downloading gigabytes of CUDA with torch.

    python .ci/check_torch.py 'torch>=2.9,<2.14'

Asks pip which wheel it would take, without installing anything, and fails if that is a CUDA build.
"""

import json
import platform
import shutil
import subprocess
import sys


def main() -> int:
    if platform.system() != "Linux" or shutil.which("nvidia-smi"):
        return 0  # elsewhere the default wheel is the right one
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    command += ["--no-deps", "--quiet", "--report", "-", sys.argv[1]]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return 1
    torch = json.loads(done.stdout)["install"][0]["metadata"]
    if not any(name.startswith("nvidia-") for name in torch.get("requires_dist", [])):
        return 0
    print(
        f"error: this machine has no NVIDIA GPU, and pip would install torch {torch['version']} "
        "with CUDA (gigabytes). Point pip at PyTorch's CPU wheels, whose address its installation "
        "page gives: make ... TORCH_INDEX=<address>. To install CUDA all the same: make ... "
        "ALLOW_CUDA=1.",
        file=sys.stderr,
    )
    return 2


if __name__ == "__main__":
    sys.exit(main())
