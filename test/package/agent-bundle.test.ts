import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bundleScript } from '../../scripts/package/bundle.ts'

test('the bundle of the agent has nothing of the server, the store, the API and the PKI', async () => {
  const { map } = await bundleScript('src/bin/packaged-agent.ts', { sourcemap: 'linked' })
  const { sources } = JSON.parse(map.toString()) as { sources: string[] }
  const folders = new Set(sources.flatMap(path => /^\.\.\/src\/([^/]+)\//.exec(path)?.[1] ?? []))
  assert.deepEqual([...folders].toSorted(), ['agent', 'base', 'bin', 'cli', 'client', 'tunnel'])
})
