"""The command line: `main` starts it, `commands` lists the commands, folders group them by noun."""
