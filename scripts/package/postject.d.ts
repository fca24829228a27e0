/** The package has no declarations of its own. */
declare module 'postject' {
  export function inject(
    path: string,
    resource: string,
    content: Buffer,
    options: { readonly sentinelFuse: string; readonly machoSegmentName?: string },
  ): Promise<void>
}
