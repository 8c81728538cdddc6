"""The hosts of models that are known by name: a call to one is a call to a model, whatever its path says."""

from __future__ import annotations

import re

MODEL_HOSTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("OpenAI", ("api.openai.com", "*.api.openai.com", "*.openai.azure.com", "*.cognitiveservices.azure.com")),
    ("Azure AI Foundry", ("*.services.ai.azure.com", "*.models.ai.azure.com", "models.inference.ai.azure.com")),
    ("Anthropic", ("api.anthropic.com",)),
    ("Google", ("generativelanguage.googleapis.com", "aiplatform.googleapis.com", "*-aiplatform.googleapis.com")),
    ("Amazon Bedrock", ("bedrock-runtime.*.amazonaws.com", "bedrock-runtime-fips.*.amazonaws.com")),
    ("Mistral", ("api.mistral.ai", "codestral.mistral.ai")),
    ("Cohere", ("api.cohere.com", "api.cohere.ai")),
    ("xAI", ("api.x.ai", "*.api.x.ai")),
    ("DeepSeek", ("api.deepseek.com",)),
    ("Groq, Cerebras, SambaNova", ("api.groq.com", "api.cerebras.ai", "api.sambanova.ai")),
    ("OpenRouter", ("openrouter.ai",)),
    ("Together", ("api.together.xyz", "api.together.ai")),
    ("Fireworks, DeepInfra, Replicate", ("api.fireworks.ai", "api.deepinfra.com", "api.replicate.com")),
    ("Hugging Face", ("router.huggingface.co", "api-inference.huggingface.co", "*.endpoints.huggingface.cloud")),
    ("Perplexity, AI21, Voyage, Jina", ("api.perplexity.ai", "api.ai21.com", "api.voyageai.com", "api.jina.ai")),
    ("GitHub Models, NVIDIA", ("models.github.ai", "integrate.api.nvidia.com")),
    ("Alibaba, Moonshot", ("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "api.moonshot.ai")),
    ("Ollama", ("ollama.com",)),
)
"""The known hosts of models: provider, and its hosts. A `*` stands for one label or more, or for a part of one."""

_HOSTS = re.compile(
    "|".join(re.escape(host).replace(r"\*", "[^/:]+") for _, hosts in MODEL_HOSTS for host in hosts),
)


def is_model_host(name: str) -> bool:
    """Tell whether a host is a known one of models.

    Args:
        name: In lower case, without a port.
    """
    return _HOSTS.fullmatch(name) is not None
