// The entry point of a checkout. Not TypeScript, because what strips the types would stay in memory.
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { checkoutBundle } from './checkout-bundle.mjs'

// What V8 has compiled is cached next to the packages, where only their owner can write: the program then starts in two
// thirds of the time and needs less memory. Without write access it works without.
enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/compiled'))
const bundle = checkoutBundle()
if (bundle !== undefined) await import(pathToFileURL(bundle).href)
else {
  const { main } = await import('#bin/main.ts')
  await main()
}
