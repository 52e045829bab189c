"""The leader's duties, one file each; `keeper.Keeper` does them in turn."""
