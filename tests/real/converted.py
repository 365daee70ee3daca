"""A GGUF file as a folder of transformers: `python converted.py FILE FOLDER`, with the Python of a server's folder.

The weights are copied into a fresh model: a model read from a GGUF file is quantized in name, and is not saved.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(file: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    named = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    read = AutoModelForCausalLM.from_pretrained(**named, dtype=torch.float32)
    if hasattr(read.config, "quantization_config"):
        del read.config.quantization_config
    fresh = LlamaForCausalLM(read.config)
    fresh.load_state_dict(read.state_dict())
    # transformers serve draws only where the model's own settings say so; it ignores temperatures otherwise.
    fresh.generation_config.do_sample = True
    AutoTokenizer.from_pretrained(**named).save_pretrained(folder)
    fresh.to(torch.bfloat16).save_pretrained(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
