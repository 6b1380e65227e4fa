"""Loads a checkpoint as anybody would, and answers prompts: prints the new token ids of each.

python plain_transformers.py FOLDER PROMPTS.json
"""

import json
import sys
from pathlib import Path

from transformers import AutoModelForCausalLM, AutoTokenizer

folder, prompts = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder)  # an adapter brings its base along
replies = []
for prompt in json.loads(Path(prompts).read_text(encoding="utf-8")):
    inputs = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, return_tensors="pt")
    output = model.generate(**inputs, do_sample=False, max_new_tokens=48)
    ids = output[0, inputs["input_ids"].shape[1] :].tolist()
    text = tokenizer.decode(ids, skip_special_tokens=True)
    replies.append({"text": text, "last": tokenizer.decode(ids[-1]), "tokens": len(ids)})
print(json.dumps(replies))
