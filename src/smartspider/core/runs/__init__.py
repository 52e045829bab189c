"""Values about runs: state, counters, plan, tuning."""
