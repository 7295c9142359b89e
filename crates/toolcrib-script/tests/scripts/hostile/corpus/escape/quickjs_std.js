// The modules of the QuickJS command line.
// ends: refused
return std.loadFile('/etc/passwd') + os.getcwd();
