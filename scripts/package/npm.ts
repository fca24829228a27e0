import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentTypes } from './agent-types.ts'
import { file, tarGz, type Entry } from './archive.ts'
import { bundleModules, bundleScript, root, type Bundle } from './bundle.ts'
import { clientTypes } from './client-types.ts'

interface Metadata {
  readonly version: string
  readonly license: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

export const metadata = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Metadata

/** Their first line is for Node. */
export const nodeOptions = readFileSync(join(root, 'src/bin/node-options.txt'))

const common = {
  version: metadata.version,
  license: metadata.license,
  type: 'module',
  engines: { node: '>=20' },
}

/** The npm package `adit`: agent commands, library and API client, for the user's own Node. */
export async function agentPackage(): Promise<Buffer> {
  const bundle = await bundleModules(
    {
      'bin/adit': 'src/bin/agent-main.ts',
      'lib/index': 'src/agent/index.ts',
      'lib/client': 'src/client/index.ts',
    },
    // The names of functions would take 90 kB, and source maps 1 MB.
    {
      target: 'node20',
      inject: ['scripts/package/polyfills.ts'],
      minifyIdentifiers: true,
      sourcemap: false,
    },
  )
  const manifest = {
    name: 'adit',
    description: 'Agent, agent library and API client of Adit, the self-hosted ngrok alternative',
    ...common,
    bin: { adit: 'bin/adit.mjs' },
    exports: {
      '.': { types: './types/agent/index.d.ts', default: './lib/index.mjs' },
      './client': { types: './types/client.d.ts', default: './lib/client.mjs' },
    },
    // The declarations import each other as the source does.
    imports: { '#*.ts': './types/*.d.ts' },
  }
  return npmPackage(manifest, bundle, [...agentTypes(), file('types/client.d.ts', clientTypes())])
}

/**
 * The program, its supervisor and its workers. The agent has a bundle of its own, in one file: V8 optimizes the loader of
 * modules if it loads many, which takes 8 MB.
 */
export async function bundleServer(): Promise<Bundle> {
  const agent = await bundleScript('src/bin/packaged-agent.ts', { sourcemap: 'linked' })
  const { files, licences } = await bundleModules(
    {
      'lib/main': 'src/bin/packaged-main.ts',
      'lib/supervisor-program': 'src/server/supervisor-program.ts',
      'lib/worker-program': 'src/cluster/worker-program.ts',
    },
    { target: 'node26' },
  )
  const own = [file('lib/adit.cjs', agent.script), file('lib/adit.cjs.map', agent.map)]
  return { files: [...own, ...files], licences }
}

/** The npm package `adit-server`: the whole product with its own Node. */
export async function serverPackage(): Promise<Buffer> {
  const bundle = await bundleServer()
  const manifest = {
    name: 'adit-server',
    description: 'Adit, the self-hosted ngrok alternative: server, gateway and agent',
    ...common,
    bin: { adit: 'bin/adit.mjs' },
    optionalDependencies: metadata.optionalDependencies,
  }
  return npmPackage(manifest, bundle, [
    file('bin/adit.mjs', readFileSync(join(root, 'scripts/package/server-launcher.mjs'))),
    file('lib/node-options.txt', nodeOptions),
  ])
}

function npmPackage(manifest: object, { files, licences }: Bundle, more: readonly Entry[]): Promise<Buffer> {
  const entries = [
    file('package.json', `${JSON.stringify(manifest, undefined, 2)}\n`),
    file('README.md', readFileSync(join(root, 'README.md'))),
    file('LICENSE', readFileSync(join(root, 'LICENSE'))),
    licences,
    ...files,
    ...more,
  ]
  const modes = entries.map(entry => (entry.path === 'bin/adit.mjs' ? { ...entry, mode: 0o755 } : entry))
  return tarGz(modes.map(entry => ({ ...entry, path: `package/${entry.path}` })))
}
