"""What the guests boot and mount: the initramfs and the file-system images, made on the host."""
