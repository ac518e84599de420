/**
 * What keeps the guest's own agents from configuring our ENIs: a file for each that is installed, in the place where it looks for such files.
 *
 * Which devices are ENIs is not known yet, so they are told to leave alone every network card but the node's own (the one of the default route), and
 * the host ends of pods. Only cards by virtio_net are meant, which those of an instance are.
 * Source: NetworkManager.conf(5) unmanaged-devices; systemd.network(5) [Match], Unmanaged=; cloud-init, "Events and updates"; udev(7), a file in /etc
 * has the place of the one of the same name in /usr; Terway's init.sh, which ends eni.service and removes the same rules; cases/field P1.
 */

export const MARK = 'Written by enactor install';
const ABOUT = `# ${MARK}, which lets the network cards of pods alone. enactor uninstall removes it.\n`;

/** The node's own device. */
export type Primary = { readonly name: string; readonly mac: string };

export type DropIn = {
  readonly agent: string;
  /** One of them is there where the agent is; below the host's root. */
  readonly signs: readonly string[];
  /** Below the host's root. */
  readonly path: string;
  text(primary: Primary): string;
};

const systemd = (unit: string): readonly string[] => [`usr/lib/systemd/system/${unit}`];
const emptied = (rule: string): DropIn => ({
  agent: `udev rule ${rule}`,
  signs: [`usr/lib/udev/rules.d/${rule}.rules`],
  path: `etc/udev/rules.d/${rule}.rules`,
  text: () => ABOUT,
});

export const DROP_INS: readonly DropIn[] = [
  {
    agent: 'NetworkManager',
    signs: [...systemd('NetworkManager.service'), 'usr/sbin/NetworkManager'],
    path: 'etc/NetworkManager/conf.d/90-enactor.conf',
    text: ({ mac }) =>
      `${ABOUT}[keyfile]\nunmanaged-devices+=interface-name:cali*;driver:virtio_net;except:mac:${mac}\n`,
  },
  {
    agent: 'systemd-networkd',
    signs: [...systemd('systemd-networkd.service'), 'usr/lib/systemd/systemd-networkd'],
    // The first file that matches counts.
    path: 'etc/systemd/network/05-enactor.network',
    text: ({ name }) => `${ABOUT}[Match]\nType=ether\nDriver=virtio_net\nName=!${name}\n\n[Link]\nUnmanaged=yes\n`,
  },
  {
    agent: 'cloud-init',
    signs: [...systemd('cloud-init.service'), ...systemd('cloud-init-main.service'), 'usr/bin/cloud-init'],
    path: 'etc/cloud/cloud.cfg.d/99-enactor.cfg',
    text: () => `${ABOUT}updates:\n  network:\n    when: [boot-new-instance]\n`,
  },
  {
    agent: 'eni.service',
    signs: systemd('eni.service'),
    path: 'etc/systemd/system/eni.service.d/10-enactor.conf',
    text: () => `${ABOUT}[Unit]\nConditionPathExists=!/etc/cni/net.d/10-enactor.conflist\n`,
  },
  ...['60-net', '61-eni', '75-persistent-net-generator'].map(emptied),
];
