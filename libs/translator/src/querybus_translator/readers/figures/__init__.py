"""Figures that are asked for: amounts, payments, shares and rates, and figures with units."""
