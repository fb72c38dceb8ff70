"""A/A and injected slow-downs, measured on this machine: how often is the verdict wrong, and what does it catch?"""
