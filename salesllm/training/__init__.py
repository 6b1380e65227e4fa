"""Training: rows, chat template, models, run folders."""

import warnings

# The recipes' `pad_token`: TRL tells to set it in the tokenizer, which `load_tokenizer` does.
warnings.filterwarnings("ignore", message="`pad_token` is deprecated", category=FutureWarning)
