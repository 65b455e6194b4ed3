"""What runs inside Dynamo's own environment: the model directory's generator and the scripted engine."""
