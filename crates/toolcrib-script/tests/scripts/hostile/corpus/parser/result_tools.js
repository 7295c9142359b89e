// ends: defined
return tools;
