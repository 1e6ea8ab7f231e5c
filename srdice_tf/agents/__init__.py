"""Training of target policies with TF-Agents' agents."""
