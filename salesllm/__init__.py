import logging

__version__ = "0.1.0"

# Without a GPU, DeepSpeed says at every import that it found none. Its other warnings stay.
logging.getLogger("DeepSpeed").addFilter(
    lambda record: "Setting accelerator to CPU" not in record.getMessage()
)
