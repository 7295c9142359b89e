// ends: refused
import * as std from 'std';
return std.getenv('HOME');
