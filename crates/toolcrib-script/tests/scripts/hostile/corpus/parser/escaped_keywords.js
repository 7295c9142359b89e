// ends: refused
return v\u0061r + \u{74}ools;
