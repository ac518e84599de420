/**
 * What the image is made of, and how it is started. The Dockerfile beside deploy's manifests does the same; a test compares.
 *
 * Node is the official build of nodejs.org as the npm registry has it (packages node-linux-*, with its LICENSE). glibc and what Node's build
 * needs of GCC come from Debian 12; there is no shell and no package manager in the image, so whatever the programs need is a file of this list.
 */
import type { Architecture, ImageConfig } from './oci-layout.ts';

export const NODE_VERSION = '24.22.3';

/** npm's words for an architecture, and Debian's folder. */
export const PLATFORMS: Readonly<
  Record<
    Architecture,
    { readonly npm: 'x64' | 'arm64'; readonly bun: string; readonly triplet: string; readonly nodeIntegrity: string }
  >
> = {
  amd64: {
    npm: 'x64',
    bun: 'x64',
    triplet: 'x86_64-linux-gnu',
    nodeIntegrity: 'sha512-KHsob+Fv9YerATvYujMbiyJqnRCvLtrcr/eTNqRqiOSGp97EOiRP1yP47+knGgQ/xnc3XY8xzkW587dlZzNqRA==',
  },
  arm64: {
    npm: 'arm64',
    bun: 'aarch64',
    triplet: 'aarch64-linux-gnu',
    nodeIntegrity: 'sha512-IZx0J52/1NDwAsY2iyWR9nlPIYuYviTWetjj8+ElvYQh2+XRhLfCfkbFEF/2O5vGI2hcUbyPNHV+nz342FbJXw==',
  },
};

/** As of the day of the build, with Debian's security updates: versions and digests are in the SBOM. gcc-12-base has the licence of two others. */
export const DEBIAN_PACKAGES = ['libc6', 'libstdc++6', 'libgcc-s1', 'gcc-12-base', 'ca-certificates'] as const;

/** What is loaded from node_modules at run time, with what they need: native code cannot be bundled. .ci/build.ts leaves the same out. */
export const NATIVE_PACKAGES = ['koffi', 'level', 'classic-level'] as const;

/** Places of the host that the DaemonSet mounts: there already, since the root is read-only. */
export const MOUNT_POINTS = [
  ...[
    'dev',
    'etc/cni/net.d',
    'etc/eni',
    'host/etc',
    'host/opt/cni/bin',
    'host/proc/sys/net',
    'host/run',
    'host/var/lib/cni',
    'opt/cni/bin',
    'proc',
    'sys',
    'tmp',
    'var/addon',
    'var/alibaba-addon-secret',
  ],
  ...[
    'var/lib/cni/enactor',
    'var/lib/cni/terway',
    'var/lib/kubelet/device-plugins',
    'run/eni',
    'run/netns',
    'run/secrets/ack.alibabacloud.com/rrsa-tokens',
    'run/secrets/kubernetes.io/serviceaccount',
  ],
] as const;

export const CERTIFICATES = 'etc/ssl/certs/ca-certificates.crt';

export function imageConfig(labels: Readonly<Record<string, string>>): ImageConfig {
  return {
    User: '0:0',
    WorkingDir: '/',
    // The certificates of the image count, so that a bundle of one's own can be mounted over them.
    Env: ['PATH=/usr/bin', 'NODE_ENV=production', 'NODE_OPTIONS=--use-openssl-ca', `SSL_CERT_FILE=/${CERTIFICATES}`],
    Entrypoint: ['/usr/bin/enactord'],
    Labels: {
      'org.opencontainers.image.title': 'enactor',
      'org.opencontainers.image.description':
        'Pod addresses from the VPC on Alibaba Cloud nodes: CNI plugin and node daemon',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      ...labels,
    },
  };
}
