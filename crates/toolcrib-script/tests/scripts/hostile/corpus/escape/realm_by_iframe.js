// ends: refused
const frame = document.createElement('iframe');
return frame.contentWindow;
