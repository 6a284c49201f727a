"""lumus: deep learning whose gradients you can see and trust."""
