// Before the first paint, so that a reader who chose the dark theme sees no white flash.
const theme = localStorage.getItem('millrace.theme');
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
