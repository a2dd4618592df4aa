//! Where candidates are searched: this machine, archives, debuginfod.
