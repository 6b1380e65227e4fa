"""Whoever speaks: one protocol for endpoints, local checkpoints and scripted speakers."""

from salesllm.chat.base import Chat, Reply, Sampling, Usage

__all__ = ["Chat", "Reply", "Sampling", "Usage"]
