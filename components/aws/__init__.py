"""What several components need of an AWS account: sessions, providers, roles, budgets, images."""
