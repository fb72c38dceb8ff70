"""What the files of the machine tell: processor, limits, disks, driver, network. Nothing is run, nothing is asked."""
