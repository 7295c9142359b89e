// ends: value 1
//# sourceURL=file:///etc/passwd
//# sourceMappingURL=http://127.0.0.1/x
return 1;
