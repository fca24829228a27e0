import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { outputOf, splitArguments } from '../processes.ts'
import { cacheFolder, needTool } from '../tools.ts'

interface GoPeer {
  readonly module: string
  readonly version: string
  /** The programs by name, each with its package below the module. */
  readonly programs: Readonly<Record<string, string>>
}

/** The folder with the programs of a Go module, built on first use. */
export async function goPrograms(name: string, { module, version, programs }: GoPeer): Promise<string> {
  const folder = cacheFolder(`${name}-${version}`)
  const go = needTool('go')
  // A module that requires one version: the other way needs a version list that mirrors may not have.
  const file = `module bench\n\ngo 1.24\n\nrequire ${module} ${version}\n`
  if (!existsSync(join(folder, 'go.mod'))) writeFileSync(join(folder, 'go.mod'), file)
  for (const [program, path] of Object.entries(programs)) {
    if (existsSync(join(folder, program))) continue
    const env = { GOFLAGS: '-mod=mod -buildvcs=false' }
    await outputOf(go, ['build', '-o', program, module + path], { cwd: folder, env })
  }
  return folder
}

/** The folder with the programs of a crate, built on first use; `flags` as for `cargo install`. */
export async function cargoPrograms(crate: string, version: string, flags = ''): Promise<string> {
  const folder = cacheFolder(`${crate}-${version}`)
  const programs = join(folder, 'bin')
  if (!existsSync(programs))
    await outputOf(
      needTool('cargo'),
      splitArguments(`install ${crate} --version ${version} --root ${folder} ${flags}`),
    )
  return programs
}
