// The entry point of a checkout. Not TypeScript, because what strips the types would stay in memory, and not an ES module,
// because the loader of those would too: 2 MB of an idle agent.
const { enableCompileCache } = require('node:module')
const { join } = require('node:path')
const { checkoutBundle } = require('./checkout-bundle.cjs')

// What V8 has compiled is cached next to the packages, where only their owner can write: the program then starts in two
// thirds of the time and needs less memory. Without write access it works without.
enableCompileCache(join(__dirname, '../../node_modules/.cache/compiled'))
const bundle = checkoutBundle()
if (bundle !== undefined) require(bundle)
else void import('#bin/main.ts').then(({ main }) => main())
