// ends: value 3
const \u{1d4d0} = 1, ünïcödé = 2;
return 𝓐 + ünïcödé;
