"""What goes on in a stack's namespace while it comes up: looked at, explained, shown. Data flows one way:
kubectl → snapshot → reasons → view → terminal or plain lines."""
