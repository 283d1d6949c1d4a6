// Relative addresses, so that the built page can lie in any folder of any static host.
export default { base: './', build: { target: 'es2022', assetsInlineLimit: 0 } };
