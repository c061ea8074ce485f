"""What is known of a tensor by its axes: where elements lie, and of which storage it is a view."""
