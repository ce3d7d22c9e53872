"""How the statements of several tenants share what one executor has."""
