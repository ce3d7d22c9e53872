"""The commands as they are typed: options, help, exit codes."""
