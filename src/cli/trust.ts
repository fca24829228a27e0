import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Command } from 'commander'
import { settings } from '#base/settings.ts'
import { CommandError, exitCodes } from '#cli/failure.ts'
import { commandsText, fileIn, systemStores, type Root, type SystemStore } from '#cli/trust-commands.ts'

interface TrustOptions {
  readonly dataDir?: string
  readonly print?: boolean
  readonly uninstall?: boolean
  readonly systemDir?: string
}

const AFTER_HELP = `
The root certificate is the file ca.pem of the data folder, created at the
first start of "adit serve". It can sign for any name, so install it only for
your own gateway. As root, on Debian, Ubuntu, Fedora and Red Hat, it is
installed; elsewhere the commands are printed.
`

/** `adit trust`: makes this machine trust the gateway's local CA. */
export function trustCommand(): Command {
  return new Command('trust')
    .description('Trust the local CA of a gateway without a public domain.')
    .option('--data-dir <folder>', 'data folder of the gateway (ADIT_DATA_DIR, default ./data)')
    .option('--print', 'change nothing; print the commands for every system')
    .option('--uninstall', 'remove the local CA from the trust store')
    .option('--system-dir <folder>', 'only copy the file, as for the image of another system')
    .addHelpText('after', AFTER_HELP)
    .action((options: TrustOptions) => {
      process.stdout.write(trust(options, process.env['ADIT_DATA_DIR']))
    })
}

/** Runs the requested action and reports it. */
function trust(options: TrustOptions, dataDir?: string): string {
  const root = readRoot(join(options.dataDir ?? dataDir ?? settings.data_dir.fallback ?? '', 'ca.pem'))
  const action = options.uninstall === true ? 'uninstall' : 'install'
  const about = `${root.name}\n  file     ${root.path}\n  SHA-256  ${root.sha256}\n\n`
  if (options.print !== true) {
    if (options.systemDir !== undefined) return about + placed(root, resolve(options.systemDir), action)
    const store = ownStore()
    if (store !== undefined) return about + settled(root, store, action)
  }
  return about + commandsText(root, action)
}

function readRoot(given: string): Root {
  const path = resolve(given)
  const pem = readIfThere(path)
  if (pem === undefined)
    throw new CommandError(
      `There is no ${path}. The first start of "adit serve" creates it; set the data folder with --data-dir.`,
      exitCodes.notFound,
    )
  const certificate = certificateOf(pem)
  if (certificate?.ca !== true) throw new CommandError(`${path} is not a CA certificate.`, exitCodes.config)
  const name = /^CN=(.+)$/m.exec(certificate.subject)?.[1] ?? 'Adit local authority'
  const digits = (fingerprint: string): string => fingerprint.replaceAll(':', '')
  const { fingerprint, fingerprint256 } = certificate
  // Only the displayed certificate, whatever else the file contains.
  return {
    path,
    pem: certificate.toString(),
    name,
    sha1: digits(fingerprint),
    sha256: digits(fingerprint256),
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new CommandError(`${path} cannot be read: ${message}`, exitCodes.failure)
  }
}

function certificateOf(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

/** The trust store of this machine, if we may change it. */
const ownStore = (): SystemStore | undefined =>
  process.platform === 'linux' && process.getuid?.() === 0
    ? systemStores.find(({ folder }) => existsSync(folder))
    : undefined

function placed(root: Root, folder: string, action: 'install' | 'uninstall'): string {
  const file = fileIn(folder, root)
  try {
    if (action === 'uninstall') rmSync(file, { force: true })
    else {
      writeFileSync(file, root.pem)
      chmodSync(file, 0o644)
    }
  } catch (error) {
    throw new CommandError(`${file} cannot be changed: ${(error as Error).message}`, exitCodes.failure)
  }
  return action === 'uninstall' ? `Removed ${file}\n` : `Wrote ${file}\n`
}

function settled(root: Root, store: SystemStore, action: 'install' | 'uninstall'): string {
  const done = placed(root, store.folder, action)
  const [program = '', ...more] = [...store.update, ...(action === 'uninstall' ? store.removed : [])]
  try {
    execFileSync(program, more, { stdio: ['ignore', 'ignore', 'inherit'] })
  } catch (error) {
    throw new CommandError(`${program} failed: ${(error as Error).message}`, exitCodes.failure)
  }
  const rest = 'Browsers with their own trust store, such as Firefox, need it too: see adit trust --print.\n'
  return `${done}Ran ${program}\n${action === 'install' ? rest : ''}`
}
