"""Commands of three kinds, for the project /home/me/work/app of a user whose home is /home/me."""

from __future__ import annotations

GRAVE = r"""
rm -rf ~
rm -rf ~/
rm -rf ~/.
rm -rf ~/*
rm -rf ~/.*
rm -rf ~/{*,.*}
rm -rf ~/.[!.]*
rm -rf ~/?*
rm -rf ~/[a-zA-Z]*
rm -rf ~root
rm -rf ~/Documents
rm -rf ~/{Documents,Pictures}
rm -r -f -- ~
rm --recursive --force ~
rm --recurs ~
rm -rf $HOME
rm -rf "$HOME"
rm -rf "$HOME"/
rm -rf "${HOME}"
rm -rf ${HOME:?}
rm -rf ${HOME:-/tmp/x}
rm -rf ${UNSET:-$HOME}
rm -rf ${UNSET:-~}
rm -rf "${HOME%/}"
rm -rf "$HOME/../me"
rm -rf /home/me
rm -rf /home/*
rm -rf /home/m*
rm -rf /home/{me,you}
rm -rf /home/$USER
rm -rf /home/$(whoami)
rm -rf /h*
rm -rf /*/*
rm -rf /
rm -rf //
rm -rf /.
rm -rf /*
rm -rf --no-preserve-root /
rm -rf /etc
rm -rf /usr/*
rm -rf ..
rm -rf ../*
rm -rf ../..
rm -rf build/../../..
rm -rf ./../../
rm -rf .
rm -rf ./*
rm -rf *
rm -rf "$PWD"
rm -rf $(pwd)
rm -rf `pwd`/*
rm -rf ~+
rm -rf /home/me/work/app
rm -rf /home/me/work
rm -rf .git
rm -rf /mnt/backup
rm -rf /Volumes/Data
rm -rf "$UNSET"/*
rm -rf $UNSET/*
rm -rf "/$UNSET"
rm -rf ~/"$UNSET"
rm -fr $'/home/me'
rm -rf $'\x2fhome\x2fme'
rm -rf /ho''me/"m"e
rm -rf \
  ~
r\m -rf ~
'rm' -rf ~
/bin/rm -rf ~
/usr/bin/env rm -rf ~
rm${IFS}-rf${IFS}$HOME
r${UNSET}m -rf ~
$(which rm) -rf ~
$(echo rm) -rf ~
`echo rm` -rf ~
X=rm; $X -rf ~
X="rm -rf"; $X ~
X="rm -rf $HOME"; $X
X="rm -rf ~"; eval $X
X=r; Y=m; $X$Y -rf ~
D=~; rm -rf $D
D=~; rm -rf "$D"
D=$HOME; E=$D; rm -rf "${E}"
D=/home; D+=/me; rm -rf $D
D=$(echo ~); rm -rf "$D"
D=$(cd ~ && pwd); rm -rf "$D"
D=$(dirname "$PWD"); rm -rf "$D"
export D=~; rm -rf $D
declare -r D=~; rm -rf $D
D=(~ build); rm -rf "${D[@]}"
declare -a D=(build "$HOME"); rm -rf "${D[@]}"
set -- ~; rm -rf "$1"
set -- build ~; rm -rf "$@"
D=~ bash -c 'rm -rf $D'
D=build; if [ -d x ]; then D=~; fi; rm -rf $D
D=~; [ -n "$X" ] && D=build; rm -rf "$D"
read D < name.txt; rm -rf "$D"
D=$(cat name.txt); rm -rf "$D"
rm -rf "$(cat name.txt)"
source settings.sh; rm -rf "$OUTPUT"
rm -rf "$(python3 where.py)/build"
for d in build ~; do rm -rf "$d"; done
for d in /home/*; do rm -rf "$d"; done
for d in ~/*; do rm -rf "$d"; done
while read d; do rm -rf "$d"; done < list.txt
cat list.txt | while read d; do rm -rf "$d"; done
cat list.txt | xargs rm -rf
echo ~ | xargs rm -rf
ls -d ~/* | xargs -n 1 rm -rf
printf '%s\n' ~ | xargs -I{} rm -rf {}
find ~ | xargs rm -rf
find ~ -print0 | xargs -0 -P 4 rm -rf
xargs -a list.txt rm -rf
parallel rm -rf ::: ~ build
parallel 'rm -rf {}' ::: ~
cd ~; rm -rf *
cd ~ && rm -rf *
cd; rm -rf *
cd && rm -rf .
cd "$HOME" && rm -rf ./*
cd ..; rm -rf *
cd ../..; rm -rf work
cd ~; cd work; rm -rf *
cd /; rm -rf home
cd ~ || exit 1; rm -rf *
(cd ~ && rm -rf *)
{ cd ~; rm -rf *; }
pushd ~; rm -rf *
pushd ~ && ls && popd; cd -; rm -rf *
cd "$(cat name.txt)" && rm -rf *
cd /tmp/missing; rm -rf *
cd ~ && find . -delete
if true; then rm -rf ~; fi
if false; then ls; else rm -rf ~; fi
true && rm -rf ~
false || rm -rf ~
! rm -rf ~
time rm -rf ~
ls; rm -rf ~ &
case x in x) rm -rf ~;; esac
f() { rm -rf "$1"; }; f ~
function f { rm -rf $HOME; }; f
f() { cd "$1"; rm -rf *; }; f ~
alias x='rm -rf'; x ~
bash -c 'rm -rf ~'
sh -c "rm -rf $HOME"
bash -lc 'cd && rm -rf *'
bash -c 'rm -rf "$1"' _ ~
bash -c "bash -c 'rm -rf ~'"
"$SHELL" -c 'rm -rf ~'
$BASH -c 'rm -rf ~'
eval 'rm -rf ~'
eval "$(echo 'rm -rf ~')"
echo 'rm -rf ~' | sh
echo 'rm -rf ~' | bash -s
bash <<< 'rm -rf ~'
bash <(echo 'rm -rf ~')
source <(echo 'rm -rf ~')
printf 'rm -rf ~\n' > x.sh; sh x.sh
printf 'rm -rf ~\n' > x.sh && chmod +x x.sh && ./x.sh
echo 'rm -rf ~' | tee x.sh | sh
echo $(rm -rf ~)
echo "$(rm -rf ~)"
echo `rm -rf ~`
cat <(rm -rf ~)
echo $(( $(rm -rf ~) + 1 ))
X=$(rm -rf ~)
trap 'rm -rf ~' EXIT
timeout 5 rm -rf ~
timeout -s KILL 5 rm -rf ~
timeout --signal=KILL -k 1 5s rm -rf ~
env rm -rf ~
env -i rm -rf ~
env -i PATH=/bin rm -rf ~
env -u X rm -rf ~
env -S 'rm -rf ~'
env -S'rm -rf ~'
env --split-string='rm -rf ~'
env -C ~ rm -rf .
env --chdir=/home/me find . -delete
nice rm -rf ~
nice -n 19 rm -rf ~
ionice -c 3 rm -rf ~
nohup rm -rf ~ &
setsid -w rm -rf ~
stdbuf -o L rm -rf ~
sudo rm -rf ~
sudo -u root -H rm -rf /home/me
sudo -E -- sh -c 'rm -rf ~'
doas -u root rm -rf ~
su -c 'rm -rf ~' root
su root -c 'rm -rf ~'
pkexec rm -rf /home/me
watch -n 1 rm -rf ~
watch -n 1 'rm -rf ~'
flock /tmp/lock rm -rf ~
flock -w 5 /tmp/lock -c 'rm -rf ~'
chroot /mnt rm -rf /home
busybox rm -rf ~
command rm -rf ~
command -p rm -rf ~
builtin command rm -rf ~
exec rm -rf ~
exec -a x rm -rf ~
coproc rm -rf ~
systemd-run --user rm -rf ~
script -c 'rm -rf ~' /dev/null
tmux new-session -d 'rm -rf ~'
strace -f -o log rm -rf ~
taskset -c 1 rm -rf ~
unknown-wrapper --fast rm -rf ~
npx rimraf ~
npx -y rimraf "$HOME"
ssh host 'rm -rf ~'
nix develop -c sh -c 'rm -rf ~'
find ~ -delete
find ~ -type f -delete
find ~/ -mtime +1 -delete
find /home/me -name '*' -delete
find ~ -not -name keep -delete
find ~ -name x -o -delete
find ~ -exec rm -rf {} +
find ~ -type f -exec rm {} \;
find ~ -exec sh -c 'rm -rf "$1"' _ {} \;
find ~ -maxdepth 1 -exec rm -rf {} \;
find . -delete
find -delete
find . -type f -delete
find build -exec rm -rf ~ \;
find "$(cat name.txt)" -delete
fd . ~ -x rm -rf
fd -H . /home/me -X rm -rf {}
rsync -a --delete empty/ ~
rsync -a --delete-after empty/ ~/
rsync -a --delete empty/ /
rsync -a --del ./empty/ "$HOME"
rsync -a --remove-source-files ~ /tmp/x
rsync -a --delete empty/ ..
mv ~ /dev/null
mv ~ /tmp/x
mv ~/* /tmp/x
mv -t /tmp ~
mv /home/me/work /tmp
mv .. /tmp
shred -u ~/*
srm -r ~
tar --remove-files -cf x.tar ~
zip -rm x.zip ~
chmod -R 000 ~
chmod -R 777 /
chown -R nobody /home/me
chmod --recursive a-rwx ..
git -C ~ clean -fdx
git --work-tree=/ clean -fdx
cd ~ && git clean -fdx
git submodule foreach 'rm -rf ~'
git bisect run rm -rf ~
git rebase -x 'rm -rf ~' main
git -c alias.x='!rm -rf ~' x
userdel -r me
dd if=/dev/zero of=/dev/sda
dd of=/dev/nvme0n1 if=x bs=1M
D=/dev/sda; dd if=/dev/zero of=$D
dd if=x of="$(cat name.txt)"
mkfs.ext4 /dev/sda1
mkfs -t ext4 /dev/sdb
sudo mkfs.xfs -f /dev/vda
wipefs -a /dev/sda
shred /dev/sda
blkdiscard /dev/nvme0n1
sgdisk --zap-all /dev/sda
cat x > /dev/sda
{ cat x; } > /dev/sda
tee /dev/sda < x > /dev/sda
cp x /etc/passwd
echo x >> ~/.bashrc
echo x >> "$HOME/.ssh/authorized_keys"
awk 'BEGIN { system("rm -rf ~") }'
perl -e 'system("rm -rf ~")'
python3 -c "import os; os.system('rm -rf ~')"
yes | rm -r ~
rm -r ~ 2>/dev/null || true
: & rm -rf ~
>log rm -rf ~
2>/dev/null rm -rf ~
X=1 Y=2 rm -rf ~
rm -rf -- "${HOME}"/.
rm -rf /home/me/../me/
rm -rf "/"
rm -rf '/home/'me
rm -R ~
rm -fR -v ~
rm -rfv --one-file-system ~
rm -d -r ~
/usr/bin/rm -rf ~/*
sudo -n -- rm -rf /
sudo bash -c "cd / && rm -rf *"
sudo -i rm -rf ~
sudo -s <<< 'rm -rf ~'
sudo su -c "rm -rf /home/me"
sudo sh -c 'echo x > /dev/sda'
env FOO=bar BAZ=qux rm -rf ~
env -u FOO -- rm -rf ~
timeout --preserve-status 10 bash -c 'rm -rf ~'
nohup sh -c 'rm -rf ~' >/dev/null 2>&1 &
nice -19 rm -rf ~
ionice -c2 -n0 nice -n 5 rm -rf ~
setsid --fork rm -rf ~
stdbuf -oL -eL rm -rf ~
xargs -I % rm -rf % <<< ~
echo "$HOME" | xargs -r -n1 rm -rf
echo $HOME | while read x; do rm -rf $x; done
echo $HOME | (read x; rm -rf "$x")
ls / | xargs -I{} rm -rf /{}
seq 1 | xargs -I{} rm -rf ~
find /home -maxdepth 1 -mindepth 1 -exec rm -rf {} \;
find /home/me -mindepth 1 -delete
find "$HOME" -type d -exec rm -r {} +
find ~ ! -path '*/keep/*' -delete
find ~ -newer x -delete
find .. -delete
find / -xdev -type f -delete
find ~ -print0 | xargs -0 rm -f -r
find ~ -name '*' -print | xargs rm -rf
fd --type f . ~ --exec rm
rsync -r --delete /tmp/empty/ /home/me/
rsync -avh --delete-excluded x/ ~/.
perl -e 'system "rm -rf ~"'
ruby -e '`rm -rf ~`'
node -e 'require("child_process").execSync("rm -rf ~")'
python3 -c 'import subprocess; subprocess.run("rm -rf ~", shell=True)'
awk 'BEGIN{system("rm -rf $HOME")}' /dev/null
gawk 'BEGIN{ cmd="rm -rf /"; system(cmd) }'
bash -ic 'rm -rf ~'
bash --norc -c 'rm -rf ~'
dash -c 'rm -rf ~'
zsh -c 'rm -rf ~'
sh -c -- 'rm -rf ~'
sh -c 'exec rm -rf ~'
sh -c "$(printf 'rm -rf %s' ~)"
eval rm -rf '~'
eval "rm" "-rf" "~"
eval $(echo "rm -rf ~")
a=rm b=-rf c=~; $a $b $c
cmd=(rm -rf ~); "${cmd[@]}"
declare -A m=([x]=~); rm -rf "${m[x]}"
local_dir=$HOME/; rm -rf "${local_dir%/}"
dir=${HOME}; dir=${dir%/}; rm -rf -- "$dir"
: "${T:=$HOME}"; rm -rf "$T"
T=${XDG:-$HOME}; rm -rf $T
IFS=:; x=a:$HOME; rm -rf $x
p=$(realpath ~); rm -rf $p
p=`readlink -f $HOME`; rm -rf "$p"
p=$(dirname ~/x); rm -rf $p
cd "$(dirname ~/x)" && rm -rf *
cd ~/work/.. && rm -rf *
cd /home && rm -rf me
cd /home/me/work && rm -rf app
cd -- ~ && rm -rf *
cd ~ & rm -rf *
pushd /home/me >/dev/null && rm -rf ./* && popd
(cd ..; cd ..; rm -rf *)
cd .. && cd .. && rm -rf work
builtin cd ~; rm -rf *
if cd ~; then rm -rf *; fi
while cd ~; do rm -rf *; break; done
test -d ~ && rm -rf ~
[[ -d ~ ]] && rm -rf ~
case $1 in *) cd ~; rm -rf *;; esac
for i in ~/.*; do rm -rf "$i"; done
for f in $(ls -d ~/*); do rm -rf $f; done
for f in $(find ~); do rm -rf $f; done
for ((i=0;i<1;i++)); do rm -rf ~; done
select x in ~; do rm -rf $x; done
until false; do rm -rf ~; done
function clean() { rm -rf "${1:-$HOME}"; }; clean
clean() ( cd "$1" && rm -rf ./* ); clean ~
x() { "$@"; }; x rm -rf ~
run() { eval "$*"; }; run rm -rf ~
shopt -s expand_aliases; alias ll='rm -rf ~'; ll
trap "rm -rf ~" INT EXIT
exec 3>&1; rm -rf ~ >&3
{ rm -rf ~; } 2>/dev/null
rm -rf ~ || true
rm -rf ~;
rm -rf ~;ls
rm -rf ~|cat
ls&&rm -rf ~
(rm -rf ~)
echo x|tee y;rm -rf ~
rm -rf~ ; rm -rf ~
rm	-rf	~
mv ~/.[a-z]* /tmp/
mv -f /home/me /dev/null
mv "$HOME" "$HOME.bak"
mv -- ~ /tmp/old
chmod -R 777 ~
chmod -vR 0 "$HOME"
chown -R root: ~
chgrp -R x /home
setfacl -R -b /
dd if=/dev/urandom of=/dev/sdb bs=4M status=progress
dd bs=1M if=x.iso of=/dev/disk2
cp x.iso /dev/sdb
cat x.iso | sudo tee /dev/sdb
pv x.iso > /dev/sdb
sudo dd of=/dev/sda < x
mkfs.vfat -F 32 /dev/sdc1
mke2fs -t ext4 /dev/sda
mkswap /dev/sda2
cryptsetup luksFormat /dev/sda
parted /dev/sda mklabel gpt
echo y | mkfs.ext4 /dev/sda
zpool destroy tank /dev/sda
nvme format /dev/nvme0n1
hdparm --security-erase x /dev/sda
truncate -s 0 /dev/sda
git clean -xdf ~ && cd ~ && git clean -xdf
git -C /home/me clean -fd
git -C "$HOME" clean -ffdx
docker run -v /:/host alpine rm -rf /host
docker run --rm -v ~:/data alpine sh -c 'rm -rf /data/*'
make clean; rm -rf ~
npm run x && rm -rf ~
npx -y rimraf ~/
pnpm dlx rimraf /home/me
tmux send-keys 'rm -rf ~' Enter
screen -dmS x bash -c 'rm -rf ~'
at now <<< 'rm -rf ~'
echo 'rm -rf ~' | at now
crontab -l; echo 'rm -rf ~' | bash
cat <<< 'rm -rf ~' | sh
base64 -d <<< x | sh; rm -rf ~
tee x.sh <<< 'rm -rf ~' >/dev/null; bash x.sh
echo 'rm -rf ~' >> x.sh; . ./x.sh
for d in $(ls ~); do rm -rf ~/$d; done
ls ~ | while read f; do rm -rf ~/"$f"; done
python3 -c "import shutil,os; shutil.rmtree(os.path.expanduser('~'))"
perl -e 'use File::Path; rmtree($ENV{HOME})'
perl -MFile::Path -e 'rmtree("/home/me")'
node -e "require('fs').rmSync(require('os').homedir(),{recursive:true})"
node -e "require('fs').rmSync('/home/me',{recursive:true})"
node -e "require('fs').rmSync(process.env.HOME,{recursive:true})"
ruby -e 'require "fileutils"; FileUtils.rm_rf(Dir.home)'
ruby -rfileutils -e 'FileUtils.rm_rf(ENV["HOME"])'
php -r 'array_map("unlink", glob("/home/me/*"));'
Rscript -e 'unlink("~", recursive=TRUE)'
emacs --batch --eval '(delete-directory "~" t)'
uv run python -c "import shutil; shutil.rmtree('/home/me')"
python3 - <<< "import shutil; shutil.rmtree('/home/me')"
python3 -c "__import__('shutil').rmtree(__import__('pathlib').Path.home())"
python3 -c "import pathlib; [p.unlink() for p in pathlib.Path.home().rglob('*')]"
python3 -c "import shutil; shutil.rmtree('.')"
python3 -c "import shutil; shutil.rmtree('..')"
python3 -c "import shutil; shutil.rmtree('/')"
cd ~ && python3 -c "import shutil; shutil.rmtree('./')"
parallel ::: 'rm -rf ~'
sed '1e rm -rf ~' a
sed -n '1!e rm -rf ~' a
vim -c ':!rm -rf ~' -c q
vim -es +'!rm -rf ~' +q
ex -c '!rm -rf ~' x
sqlite3 x.db '.shell rm -rf ~'
psql -c '\! rm -rf ~'
IFS=: read a b <<< "x:$HOME"; rm -rf $b
. /dev/stdin <<< 'rm -rf ~'
echo cm0gLXJmIH4= | base64 -d | sh
bash -c "$(echo cm0gLXJmIH4= | base64 --decode)"
eval "$(base64 -d <<< cm0gLXJmIH4=)"
7z a -sdel x.7z ~
btrfs subvolume delete ~
zfs destroy -r rpool/home
rclone purge ~
find ~ -type f -exec truncate -s 0 {} +
for f in ~/*; do : > "$f"; done
for f in ~/*; do truncate -s 0 "$f"; done
find ~ -maxdepth 1 | while read -r p; do rm -rf "$p"; done
ls -A ~ | xargs -I{} rm -rf ~/{}
ls -A1 ~ | sed 's|^|/home/me/|' | xargs rm -rf
(cd ~ && tar cf - . --remove-files) > /dev/null
x=$(printf '\x7e'); eval rm -rf $x
rm -rf "$(printf '%s' /home/)me"
rm -rf -- $'/ho\x6de/me'
env HOME=/home/me bash -c 'rm -rf $HOME'
HOME=/home/me; rm -rf $HOME
nohup bash -c 'sleep 5; rm -rf ~' &
(sleep 100; rm -rf ~) & disown
git config core.hooksPath x; rm -rf ~
a() { b ~; }; b() { rm -rf $1; }; a
readarray -t A < <(printf '%s\n' ~); rm -rf "${A[@]}"
while IFS= read -r -d '' f; do rm -rf "$f"; done < <(find ~ -print0)
rm -rf ~ # clean
npm exec -- rimraf ~
pnpm dlx rimraf ~
bunx rimraf ~
yarn dlx rimraf ~
deno eval 'Deno.removeSync(Deno.env.get("HOME"), {recursive: true})'
IFS= read -r f <<< ~; rm -rf "$f"
LC_ALL=C read f < x; rm -rf "$f"
rm -rf "$(git rev-parse --show-toplevel)/.."
rm -rf "${PWD%/*}"
cd "$(git rev-parse --show-toplevel)/.." && rm -rf app
xargs -I{} sh -c 'rm -rf {}' <<< ~
find ~ | parallel rm -rf
echo rm -rf ~ > x; bash x
env $(echo rm) -rf ~
awk '{system("rm -rf " $1)}' <<< ~
git -c core.editor='rm -rf ~' commit
GIT_EDITOR='rm -rf ~' git commit
EDITOR='rm -rf ~ #' crontab -e
crontab -r
crontab -ri
crontab -u me -r
echo '0 3 * * * rm -rf ~' | crontab -
(crontab -l; echo '@daily rm -rf /') | crontab -
printf '* * * * * rm -rf $HOME\n' > jobs; crontab jobs
ln -s ~ x; rm -rf x/*
ln -sfn $HOME link && rm -rf link/*
ln -s ~ x && cd x && rm -rf *
ln -s / all; find all/ -delete
ln -s ~/ build/h; rm -rf build/h/Documents
sed 's/.*/rm -rf ~/e' a.txt
sed -n 's|^|rm -rf |ep' names.txt
echo x | sed 's/x/rm -rf \$HOME/e'
PAGER='rm -rf ~' git log
GIT_SSH_COMMAND='rm -rf ~;' git fetch
LESSOPEN='|rm -rf ~' less x
man -P 'rm -rf ~' ls
tar cf x --checkpoint=1 --checkpoint-action=exec='rm -rf ~' .
rsync -e 'rm -rf ~' x y:
ssh -o ProxyCommand='rm -rf ~' x
zip x y -T -TT 'rm -rf ~'
npm exec -c 'rm -rf ~'
npx -c 'rm -rf ~'
yarn exec 'rm -rf ~'
cat /dev/null | tee ~/*
echo 'rm -rf ~' > x.sh; chmod +x x.sh; nohup ./x.sh &
rm -rf -- ~/../me
rm -rf ~/work/app/../..
rm -rf /home/./me//
a=~ b=; rm -rf "$a$b"
rm -rf "${HOME:0}"
rm -rf "${HOME^}" "${HOME,,}"
rm -rf "${HOME/x/y}"
rm -rf "${HOME@Q}"
n=HOME; rm -rf "${!n}"
declare -n r=HOME; rm -rf "$r"
rm -rf {~,build}
rm -rf ~{,/x}
rm -rf /{home,tmp}/me
rm -rf /home/[m]e
rm -rf /home/m?
shopt -s dotglob; cd ~; rm -rf *
mv ~ /tmp/h && rm -rf /tmp/h
mkdir x; mv ~/* x; rm -rf x
git init ~; git -C ~ clean -xdff
python3 -c 'import os; [os.remove(os.path.join(d,f)) for d,_,fs in os.walk("/home/me") for f in fs]'
python3 -c 'import subprocess as s; s.run(["rm","-rf","/home/me"])'
node -e 'require("child_process").spawnSync("rm",["-rf",process.env.HOME])'
ruby -e 'system("rm","-rf",ENV["HOME"])'
perl -e 'system("rm","-rf",$ENV{HOME})'
python3 -c 'import os; os.execvp("rm",["rm","-rf",os.path.expanduser("~")])'
gsettings set x; dconf reset -f /; rm -rf ~
cryptsetup luksErase /dev/sda2
lvremove -f vg/home
find / -delete
chattr -R +i ~
setfacl -R -m u::--- ~
""".strip()

GRAVE_BLOCKS = (
    "ls # rm\nrm -rf ~",
    "bash <<EOF\nrm -rf ~\nEOF",
    "bash -s <<'EOF'\nls\nrm -rf ~\nEOF",
    "cat <<EOF | sh\nrm -rf $HOME\nEOF",
    "cat > x.sh <<'EOF'\n#!/bin/sh\nrm -rf ~\nEOF\nsh x.sh",
    "ssh host <<EOF\nrm -rf ~\nEOF",
    "cat <<A <<B\na\nA\nb\nB\nrm -rf ~",
    "git commit -m \"$(cat <<'EOF'\nit's done\nEOF\n)\" && rm -rf ~",
    "for d in \\\n  build \\\n  ~\ndo\n  rm -rf $d\ndone",
    "while true\ndo\n rm -rf ~\n break\ndone",
    "f()\n{\n rm -rf ~\n}\nf",
    "echo 'it is \"quoted\"'\nrm -rf ~ # gone",
    'x="$(ls "$(pwd)")"; rm -rf ~',
    "case $x in\n (a|b) ls ;;\n *) rm -rf ~ ;;\nesac",
    "[[ -d x && ! -f y ]] && rm -rf ~",
    "(( x = 1 + 2 )) ; rm -rf ~",
    "rm -rf ~\\\n/",
    'echo "a\\"b"; rm -rf ~',
    "python3 - <<'EOF'\nimport shutil, pathlib\nfor p in pathlib.Path.home().iterdir():\n    shutil.rmtree(p)\nEOF",
    "cat > /tmp/x.py <<'EOF'\nimport shutil, pathlib\nshutil.rmtree(pathlib.Path.home())\nEOF\npython3 /tmp/x.py",
    "cat <<'EOF' | sh\nrm -rf ~\nEOF",
    "bash <<EOF\ncd ~\nrm -rf *\nEOF",
    "rm -rf $(\n echo ~ )",
    "# x\nrm -rf ~",
    "rm \\\n-rf \\\n~",
    "cat > a.sh <<'EOF'\ncd ~\nrm -rf *\nEOF\nbash a.sh",
    "cat > a.pl <<'EOF'\nuse File::Path; rmtree(\"/home/me\");\nEOF\nperl a.pl",
)
"""Commands of several lines."""

ORDINARY = r"""
ls -la
git status
git diff HEAD~1 -- src
git log --oneline -5
git add -A && git commit -m "remove rm -rf ~ from the docs"
git commit -m 'never run rm -rf / again'
git push
git checkout -b feature
git clone https://github.com/x/y /tmp/y
git -C sub status
git -c core.pager=cat log -3
npm install
npm run build && npm test
npm test -- --watch=false
pnpm -r build
yarn add -D rimraf
npx tsc --noEmit
bun test
pip install -e '.[dev]'
python3 -m venv .venv && . .venv/bin/activate && pip install -r requirements.txt
python3 -c 'print(1)'
python3 - <<< 'print(1)'
pytest -q tests/test_a.py::test_b -k "not slow"
cargo build --release
go test ./... -run TestX -count=1
make -j4
make clean && make
docker compose up -d
docker build -t app . && docker run --rm app pytest
docker ps -a | grep app
kubectl get pods -n dev
cat README.md | head -50
grep -rn "rm -rf" scripts/
grep -rn 'TODO' src | sort | uniq -c | sort -rn | head
rg -n "foo\(" -g '*.py'
sed -n '1,80p' src/app.py
sed -i 's/foo/bar/g' src/app.py
awk '{print $1}' data.txt
find . -name '*.py' | xargs wc -l
find . -name '*.pyc' -print
find ~ -name config.toml
find / -name libssl.so 2>/dev/null
ls ~
ls -la ~/.config
cd ~ && ls
cd /tmp && ls
cd src && grep -n foo *.py
cd .. && ls
pushd src && make && popd
(cd frontend && npm run build)
mkdir -p build && cd build && cmake .. && make
tar -xzf x.tar.gz -C /tmp
tar -czf app.tgz src
zip -r app.zip src
unzip -o x.zip
cp -r src /tmp/src
cp .env.example config.txt
mv a.py b.py
mv *.log logs/
mv ~/Downloads/x.zip .
touch x && chmod +x x
chmod 644 src/*.py
ln -s ../shared shared
rm a.txt
rm src/old.py tests/test_old.py
rmdir empty
echo 'rm -rf ~' > notes.txt
echo "rm -rf ~"
printf 'rm -rf %s\n' ~
echo rm
man rm
which rm
type rm
curl -s https://example.com/api | jq '.items[0]'
curl -fsSL -o /tmp/x.tgz https://example.com/x.tgz
wget -q https://example.com/x
for f in *.py; do python3 -m py_compile "$f"; done
for i in 1 2 3; do echo $i; done
for i in {1..5}; do curl -s localhost:$((8000 + i)); done
while ! nc -z localhost 5432; do sleep 1; done
if [ -f x ]; then cat x; fi
[[ -d build ]] || mkdir build
test -f x && echo yes
export PATH="$HOME/bin:$PATH" && which node
X=$(git rev-parse HEAD) && echo "$X"
D=$(mktemp -d) && cp -r src "$D" && ls "$D"
cat > x.sh <<< 'ls'
diff <(sort a) <(sort b)
ps aux | grep node
kill 1234
lsof -i :3000
df -h && du -sh *
date +%s
env | sort
nohup ./server > log 2>&1 &
timeout 60 pytest -x
nice -n 10 make -j2
time cargo test
watch -n 1 -t ls
xargs -n1 echo < list.txt
ssh host uptime
rsync -av src/ host:/srv/app/
rsync -av src/ /tmp/backup/
sqlite3 app.db 'select 1'
psql -c 'delete from users where id = 1'
gh pr create --title "x" --body "removes rm -rf ~"
gh pr view 12 --json title
code .
open index.html
terraform plan
python3 -c "import shutil; shutil.rmtree('build')"
python3 -c "import shutil, pathlib; shutil.rmtree(pathlib.Path.home() / '.cache' / 'x')"
python3 -c "import shutil, os; shutil.rmtree(os.path.expanduser('~/.cache/pip'))"
python3 -c "import os; os.unlink('/tmp/x')"
node -e "const fs=require('fs'); fs.rmSync('dist',{recursive:true,force:true})"
node -e "console.log(require('path').join('..','x'))"
node -e "require('fs').renameSync('./a', './b')"
perl -pi -e 's/a/b/' x
perl -e 'unlink glob "*.o"'
ruby -e 'File.delete("x")'
for f in $(ls src); do mv src/$f lib/$f; done
sed -i 's/a/b/' x
sed -n '/start/,/end/p' a
sed -e 's/x/e rm/' a
sed 's/one/use/' a.txt
sed -i 's/rm -rf/trash/g' x.sh
ln -s ../shared node_modules/shared
ln -s build out; ls out/
vim -c ':wq' x
for f in logs/*; do : > "$f"; done
for f in *.txt; do sort "$f" > "$f.sorted"; done
for f in *; do echo x > "$f.out"; done
while IFS= read -r line; do echo "$line" >> out.txt; done < in.txt
echo aGk= | base64 -d
base64 -d x.b64 > x
python manage.py migrate
python3 -c "import shutil; shutil.copy('/usr/share/x', '.')"
psql -c 'select 1'
EDITOR=vim git commit
GIT_EDITOR=true git rebase --continue
PAGER=cat git log -3
make 2>&1 | tee build/log.txt
git log | tee notes.md
rsync -e 'ssh -p 22' -a x host:y
man ls
nohup ./start.sh > log.txt 2>&1 &
""".strip()

DELETING = r"""
rm -rf build
rm -rf build dist *.egg-info
rm -rf ./build
rm -rf node_modules && npm ci
rm -rf src/__pycache__ .pytest_cache
rm -rf "$PWD/build"
rm -rf $(pwd)/build
rm -rf /tmp/x
rm -rf /tmp/*
rm -rf "$TMPDIR/x"
rm -rf ~/.cache/app
rm -rf /home/me/work/app/build
rm -rf ~/work/app/dist
rm -rf '~'
rm -rf ./~
rm -f *.log
rm -rf build/*
rm -rf build/{a,b}
D=build; rm -rf "$D"
D=build; rm -rf "${D:?}"/*
D=$(mktemp -d); make -C "$D"; rm -rf "$D"
tmp=/tmp/x-$$; mkdir $tmp; rm -rf $tmp
rm -rf "$(git rev-parse --show-toplevel)/build"
rm -rf /tmp/build-$(date +%s)
for d in build dist; do rm -rf "$d"; done
for d in packages/*/dist; do rm -rf "$d"; done
cd build && rm -rf *
cd /tmp && rm -rf app-test && mkdir app-test
cd /tmp/x && rm -rf *
(cd /tmp/y && rm -rf *)
mkdir -p out && cd out && rm -rf *
find . -name '*.pyc' -delete
find . -name __pycache__ -type d -exec rm -rf {} +
find . -name node_modules -prune -exec rm -rf '{}' +
find . -type d -empty -delete
find . -not -path './.git/*' -name '*.orig' -delete
find . \( -name '*.o' -o -name '*.a' \) -delete
find build -type f -delete
find /tmp/x -mtime +1 -delete
find . -name '*.tmp' | xargs rm -f
find . -name '*.tmp' -print0 | xargs -0 rm -rf
git ls-files --deleted | xargs -I{} rm -f {}
ls *.bak | xargs rm -f
docker exec app rm -rf build
timeout 5 rm -rf build
sudo rm -rf build
bash -c 'rm -rf build'
rsync -a --delete src/ /tmp/backup/
rsync -a --delete build/ host:/srv/www/
rsync -a --delete dist/ public/
chmod -R u+w .
chmod -R 755 build
chown -R "$USER" .
git clean -fdx
git rm -rf old
git reset --hard origin/main
git checkout -- .
npx rimraf dist
shred -u secret.txt
truncate -s 0 app.log
dd if=/dev/zero of=disk.img bs=1M count=10
mkfs.ext4 disk.img
f() { rm -rf "$1"; }; f build
test -d build && rm -rf build
[ -n "$D" ] && rm -rf build
rm -rf .git/entire-sessions/*.json
rm -rf .venv && python3 -m venv .venv
rm -rf target/ && cargo build
rm -rf ./node_modules package-lock.json && npm install
rm -rf .next .turbo dist
rm -rf coverage htmlcov .coverage
rm -rf "$TMPDIR"/foo
rm -rf ${TMPDIR:-/tmp}/foo
rm -rf /tmp/foo /tmp/bar
rm -rf ../other-project/build
rm -rf ~/.cache/pip
rm -rf ~/.npm/_cacache
rm -rf ~/work/other/dist
rm -rf /var/lib/apt/lists/*
rm -rf build-*/
rm -rf **/__pycache__
rm -rf src/**/*.pyc
rm -rf packages/*/node_modules
rm -rf "dist with space"
rm -rf .venv/lib/python3.*/site-packages/foo*
find . -name "*.pyc" -exec rm -f {} \;
find . -type d -name __pycache__ -prune -exec rm -rf {} \;
find . -name node_modules -type d -prune -print0 | xargs -0 rm -rf
find . -path ./node_modules -prune -o -name '*.map' -delete
find src -name '*.orig' -o -name '*.rej' | xargs rm -f
find /tmp -name 'foo*' -mtime +1 -delete
git ls-files -o --exclude-standard | xargs rm -f
git branch --merged | grep -v main | xargs git branch -d
git stash && git pull --rebase && git stash pop
git worktree remove ../wt
git diff --name-only | xargs prettier --write
grep -rl foo src | xargs sed -i 's/foo/bar/g'
ls *.tmp | xargs -I{} mv {} /tmp
for f in *.md; do mv "$f" "${f%.md}.txt"; done
for d in */; do (cd "$d" && npm test); done
for pkg in packages/*; do rm -rf "$pkg/dist"; done
for d in a b c; do rm -rf "build/$d"; mkdir -p "build/$d"; done
DIR=$(mktemp -d) && trap 'rm -rf "$DIR"' EXIT && cp x "$DIR"
WORK=/tmp/work.$$; mkdir -p $WORK; cd $WORK; rm -rf *
OUT=dist; [ -d "$OUT" ] && rm -rf "$OUT"; mkdir "$OUT"
BUILD_DIR=${BUILD_DIR:-build}; rm -rf "$BUILD_DIR"
ROOT=$(git rev-parse --show-toplevel); rm -rf "$ROOT/build"
cd "$(git rev-parse --show-toplevel)" && rm -rf build
cd $(dirname $0) && rm -rf build
cd /tmp && rm -rf repo && git clone https://x/y repo
cd frontend && rm -rf node_modules && npm ci
(cd api && rm -rf dist && npm run build)
mkdir -p /tmp/t && cd /tmp/t && rm -rf ./*
docker run --rm -v "$PWD":/app -w /app node:20 npm test
docker compose down -v && docker system prune -f
docker exec db psql -U me -c 'drop table x'
kubectl delete pod x
sudo apt-get install -y jq
sudo systemctl restart nginx
chmod -R +x scripts
chown -R $(id -u):$(id -g) .
mv dist/* public/
mv ~/Downloads/foo.zip /tmp
mv src/old src/new
cp -r ~/.config/app ./fixtures
rsync -a --delete ./dist/ ./public/
rsync -az --delete dist/ deploy@host:/var/www/app
tar --exclude=node_modules -czf /tmp/app.tgz .
dd if=/dev/zero of=test.bin bs=1M count=1
truncate -s 10M test.bin
shred -u key.tmp
make clean
make -C build clean all
cargo clean
npm cache clean --force
go clean -cache
poetry env remove python3.11
pip uninstall -y foo
echo "rm -rf /" >> docs/danger.md
cat <<< "rm -rf ~" > notes
printf '%s\n' 'rm -rf ~' | tee notes.txt
grep -n "rm -rf ~" -r docs
rg 'rm -rf /' --type sh
sed -n '/rm -rf/p' x.sh
git log -S'rm -rf ~' --oneline
git commit -am "fix: don't rm -rf ~"
gh issue create --title 'rm -rf ~ bug' --body 'it ran rm -rf ~'
python3 -c "print('rm -rf build')"
bash -n script.sh
bash scripts/build.sh
sh -c 'cd build && make'
env NODE_ENV=test npm test
timeout 30 npm run e2e
time make
nohup npm start > /tmp/log 2>&1 &
watch -n5 'kubectl get pods'
xargs -a files.txt wc -l
parallel -j4 gzip ::: *.log
ssh host 'sudo systemctl restart app'
tmux new -d -s x 'npm start'
while read -r f; do wc -l "$f"; done < files.txt
while read -r f; do rm -f "$f"; done < files.txt
cat files.txt | xargs rm -f
ls build | xargs -I{} rm -rf build/{}
for d in $(ls packages); do rm -rf packages/$d/node_modules; done
ls *.log | xargs rm -f
ls dist | while read f; do rm -rf "dist/$f"; done
truncate -s 0 log.txt
truncate -s 0 logs/*.log
npx rimraf dist
""".strip()
"""Commands that delete what can be made again, or look as if they did: not asked of who wants no questions."""

ORDINARY_BLOCKS = (
    "python3 - <<'EOF'\nimport pathlib\np = pathlib.Path('a.py'); p.write_text(p.read_text().replace('a', 'b'))\nEOF",
    "python3 - <<'EOF'\nimport os\nos.rename('a.py', 'b.py')\nprint(os.path.join('.', 'x'), os.environ['HOME'])\nEOF",
    "python3 - <<'EOF'\nimport sys; sys.path.insert(0, '..')\nitems.remove(x); text.replace('/', '.')\nEOF",
    "python3 -c \"\nimport json, os\nfor n in os.listdir('.'):\n    if n.endswith('.tmp'): os.remove(n)\n\"",
    "python3 -c \"\nimport shutil\nshutil.move('/tmp/a', './b')\n\"",
    "python3 -c \"\nimport tempfile, shutil\nd = tempfile.mkdtemp(); shutil.rmtree(d)\nopen('/etc/hostname')\n\"",
    "cat > gen.py <<'EOF'\nimport shutil\nshutil.rmtree(\"out\", ignore_errors=True)\nEOF\npython3 gen.py",
)
"""Commands of several lines that lose nothing."""
