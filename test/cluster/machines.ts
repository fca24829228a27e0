import { execFileSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { program } from '../support/program.ts'
import { Folder } from '../support/folder.ts'

const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' })

/** A machine with an address that this one reaches, and all its ports free. */
export interface Machine {
  readonly address: string
  /** The command that runs the command behind it there. */
  readonly inside: readonly string[]
  /** A program that is `adit` there. */
  readonly adit: string
}

/** Several machines on one network: namespaces, whose programs listen on the ports that they have in production. */
export class Machines implements Disposable {
  readonly #bridge = `adit${process.pid}`
  readonly #subnet = freeSubnet()
  readonly #folder = new Folder()
  readonly #names: string[] = []

  constructor() {
    ip('link', 'add', this.#bridge, 'type', 'bridge')
    ip('addr', 'add', `${this.#subnet}.1/24`, 'dev', this.#bridge)
    ip('link', 'set', this.#bridge, 'up')
  }

  add(): Machine {
    const name = `${this.#bridge}m${this.#names.length}`
    const address = `${this.#subnet}.${10 + this.#names.length}`
    ip('netns', 'add', name)
    this.#names.push(name)
    ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
    ip('link', 'set', name, 'master', this.#bridge, 'up')
    ip('-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0')
    for (const link of ['lo', 'eth0']) ip('-n', name, 'link', 'set', link, 'up')
    const inside = ['ip', 'netns', 'exec', name]
    const adit = join(this.#folder.path, name)
    writeFileSync(adit, `#!/bin/sh\nexec ${inside.join(' ')} '${program}' "$@"\n`)
    chmodSync(adit, 0o755)
    return { address, inside, adit }
  }

  [Symbol.dispose](): void {
    for (const name of this.#names) ip('netns', 'del', name)
    ip('link', 'del', this.#bridge)
    this.#folder[Symbol.dispose]()
  }
}

/** One that no other test uses; 198.18.0.0/15 is for tests of networks (RFC 2544). */
function freeSubnet(): string {
  const used = ip('-o', '-4', 'addr')
  for (let tried = 0; tried < 256; tried++) {
    const subnet = `198.18.${(process.pid + tried) % 256}`
    if (!used.includes(`${subnet}.1/`)) return subnet
  }
  throw new Error('other tests have all networks of 198.18.0.0/16')
}
