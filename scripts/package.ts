import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sha256 } from './package/archive.ts'
import { root } from './package/bundle.ts'
import { debianPackage } from './package/debian.ts'
import { executable, platforms } from './package/executable.ts'
import { image } from './package/image.ts'
import { agentPackage, metadata, serverPackage } from './package/npm.ts'

const { version } = metadata
const PIECE = 65_536
const here = `${process.platform}-${process.arch}`

// npm run package [-- --platform linux-arm64] [--out FOLDER]: another platform gets its executable only. Tests build
// with --fast, which does not compress what is large, and with --npm, which makes the packages for npm alone.
const { values } = parseArgs({
  options: {
    platform: { type: 'string', default: here },
    out: { type: 'string', default: join(root, 'dist') },
    fast: { type: 'boolean', default: false },
    npm: { type: 'boolean', default: false },
  },
})
if (!platforms.includes(values.platform)) {
  console.error(`package: there is no runtime for ${values.platform}; choose one of ${platforms.join(', ')}`)
  process.exit(2)
}

const built = new Map<string, { readonly bytes: Buffer; readonly mode: number }>()
const keep = (name: string, bytes: Buffer, mode = 0o644): Map<string, unknown> =>
  built.set(name, { bytes, mode })

if (values.platform === here) {
  keep(`adit-${version}.tgz`, await agentPackage())
  keep(`adit-server-${version}.tgz`, await serverPackage())
}
if (!values.npm) await keepExecutable()

async function keepExecutable(): Promise<void> {
  const product = await executable(values.platform)
  const extension = values.platform.startsWith('win') ? '.exe' : ''
  keep(`adit-${version}-${values.platform}${extension}`, product.binary, 0o755)
  if (values.platform !== here || here !== 'linux-x64') return
  keep(`adit_${version}_amd64.deb`, debianPackage(product, { isFast: values.fast }))
  keep(`adit-${version}-image.tar`, await image(product, { isFast: values.fast }))
}

/**
 * Writes as installers do. Linux caches what one call writes in large pages; a program whose file is cached so has 35 MB
 * more in memory.
 */
function writeInPieces(path: string, bytes: Buffer, mode: number): void {
  const file = openSync(path, 'w', mode)
  for (let at = 0; at < bytes.length; at += PIECE)
    writeSync(file, bytes, at, Math.min(PIECE, bytes.length - at))
  closeSync(file)
}

const dist = values.out
mkdirSync(dist, { recursive: true })
const names = [...built.keys()].toSorted()
for (const name of names) {
  const { bytes, mode } = built.get(name) ?? { bytes: Buffer.alloc(0), mode: 0o644 }
  writeInPieces(join(dist, name), bytes, mode)
  console.log(`${(bytes.length / 1e6).toFixed(1).padStart(7)} MB  ${join(dist, name)}`)
}
const sums = names.map(name => `${sha256(built.get(name)?.bytes ?? Buffer.alloc(0))}  ${name}\n`)
writeFileSync(
  join(dist, values.platform === here ? 'SHA256SUMS' : `SHA256SUMS-${values.platform}`),
  sums.join(''),
)
