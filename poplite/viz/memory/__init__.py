"""Pictures of memory: what every tile needs, and what lies on the fullest one."""
