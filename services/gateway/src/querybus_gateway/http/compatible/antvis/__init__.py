"""`/antvis`: draws what antvis' chart server for assistants would send to a rendering service of others."""
