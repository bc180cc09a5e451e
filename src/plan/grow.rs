//! Grows a list of files from what is known of a real one: how many files and directories, all
//! bytes, the quantiles of the sizes. The totals are met exactly, the quantiles at their points, and
//! the same facts give the same list everywhere.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::dataset::{Dataset, ListOrder};

/// Deepest directory below the tree; with names as long as these no path is longer than 70 bytes.
const DEEPEST: usize = 6;
/// Directories directly below the tree, of a hundred: source trees have about so many.
const TOP: usize = 18;
/// Shares of the directories at depth 2 to 6, in percent: most files are then two or three deep.
const DEPTHS: [usize; 5] = [30, 42, 18, 7, 3];
/// Quantiles of files a directory: a source tree of 21 280 files in 1 246 directories.
const FILES_A_DIRECTORY: &[(f64, u64)] = &[(0.0, 1), (0.5, 8), (0.9, 40), (0.99, 141), (1.0, 745)];
/// Endings of names, each as often as it stands here.
const ENDINGS: &[&str] = &[".c", ".h", ".c", ".h", ".c", ".h", ".c", ".h", "", ".S"];

/// What is known of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts<'a> {
    /// Its name, by which it also differs from lists of the same facts.
    pub name: &'a str,
    /// Files, those that replace others among them.
    pub files: u64,
    /// Directories that it adds.
    pub dirs: u64,
    /// Directories of the other list that get files, directly.
    pub used: u64,
    /// Files that have the path of one of the other list.
    pub replaces: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// (fraction, bytes), rising.
    pub sizes: &'a [(f64, u64)],
    /// In which order it is written.
    pub order: ListOrder,
    /// Files are put in the order of their paths, or shuffled.
    pub arrange: Arrange,
}

/// How the files of a list are put in order once it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Arrange {
    /// Directory by directory.
    #[default]
    Grown,
    /// By path.
    Sorted,
    /// In no order.
    Shuffled,
}

/// Grows a list, beside another one where that is given. `Err`: why the facts do not fit together.
pub fn grow(facts: &Facts, beside: Option<&Dataset>) -> Result<Dataset, String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed(facts.name));
    let mut list = Dataset::new(facts.name, facts.order);
    let replaced = replaced(facts, beside, &mut random)?;
    let new_files = facts.files - facts.replaces;
    let holders = directories(&mut list, facts, beside, &mut random)?;
    if (holders.len() as u64) > new_files {
        return Err(format!("{new_files} new files cannot be in {} directories", holders.len()));
    }
    let mut sizes = sample(facts.sizes, facts.files as usize, facts.bytes)?;
    shuffle(&mut sizes, &mut random);
    let mut sizes = sizes.into_iter();
    for (path, dir_path) in &replaced {
        let dir = existing(&mut list, dir_path);
        list.add_file(dir, path, sizes.next().unwrap_or(0));
    }
    let mut counts = per_directory(holders.len(), new_files)?;
    shuffle(&mut counts, &mut random);
    for (dir, count) in holders.iter().zip(counts) {
        for _ in 0..count {
            let number = list.files.len();
            let ending = ENDINGS.get(random.next_u32() as usize % ENDINGS.len()).copied().unwrap_or("");
            let name = format!("{}{number}{ending}", word(&mut random, 2, 6));
            let path = below(list.dir_path(*dir), &name);
            list.add_file(*dir, &path, sizes.next().unwrap_or(0));
        }
    }
    arrange(&mut list, facts.arrange, &mut random);
    Ok(list)
}

/// Puts the files of a list in order.
pub fn arranged(mut list: Dataset, how: Arrange) -> Dataset {
    let mut random = ChaCha8Rng::seed_from_u64(seed(&list.name));
    arrange(&mut list, how, &mut random);
    list
}

fn arrange(list: &mut Dataset, how: Arrange, random: &mut ChaCha8Rng) {
    let mut files = std::mem::take(&mut list.files);
    match how {
        Arrange::Grown => {}
        Arrange::Sorted => {
            files.sort_by(|a, b| {
                list.dir_path(a.dir).cmp(list.dir_path(b.dir)).then_with(|| list.path(a).cmp(list.path(b)))
            });
        }
        Arrange::Shuffled => shuffle(&mut files, random),
    }
    list.files = files;
}

/// The name's own number, whatever the machine.
fn seed(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn below(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.into() } else { format!("{dir}/{name}") }
}

fn word(random: &mut ChaCha8Rng, least: usize, most: usize) -> String {
    let len = least + random.next_u32() as usize % (most - least + 1);
    (0..len).map(|_| char::from(b'a' + (random.next_u32() % 26) as u8)).collect()
}

fn shuffle<T>(items: &mut [T], random: &mut ChaCha8Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
    }
}

/// Paths, each with its directory, of the other list's files that this one has anew.
fn replaced(
    facts: &Facts,
    beside: Option<&Dataset>,
    random: &mut ChaCha8Rng,
) -> Result<Vec<(String, String)>, String> {
    if facts.replaces == 0 {
        return Ok(Vec::new());
    }
    let Some(other) = beside else {
        return Err("`replaces` needs a list beside which this one stands".into());
    };
    if facts.replaces > facts.files || facts.replaces > other.files.len() as u64 {
        return Err(format!(
            "{} files cannot replace {} of the {} of {}",
            facts.files,
            facts.replaces,
            other.files.len(),
            other.name
        ));
    }
    let mut chosen: Vec<usize> = (0..other.files.len()).collect();
    shuffle(&mut chosen, random);
    chosen.truncate(facts.replaces as usize);
    // Directory by directory, as the other list has them.
    chosen.sort_unstable();
    let pair = |at: usize| {
        let file = other.files.get(at)?;
        Some((other.path(file).to_string(), other.dir_path(file.dir).to_string()))
    };
    Ok(chosen.into_iter().filter_map(pair).collect())
}

/// The index of a directory of the other list, added with all above it where it is not there yet.
fn existing(list: &mut Dataset, path: &str) -> u32 {
    dir_of(list, path, false)
}

/// The index of a directory, added with all above it where it is not there yet.
pub fn dir_of(list: &mut Dataset, path: &str, new: bool) -> u32 {
    if path.is_empty() {
        return 0;
    }
    // Lists come directory by directory: the last ones are the likely ones.
    let known = (0..list.dirs.len()).rev().find(|at| list.dir_path(*at as u32) == path);
    if let Some(known) = known {
        return known as u32;
    }
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let parent = dir_of(list, parent, new);
    list.add_dir(parent, path, new)
}

/// Makes the directories; returns those that hold files.
fn directories(
    list: &mut Dataset,
    facts: &Facts,
    beside: Option<&Dataset>,
    random: &mut ChaCha8Rng,
) -> Result<Vec<u32>, String> {
    let mut holders = Vec::new();
    // Directories by depth that new ones may be made in: path and index here.
    let mut at_depth: Vec<Vec<u32>> = vec![vec![0]];
    if let Some(other) = beside {
        if facts.used > other.dirs.len() as u64 - 1 {
            let there = other.dirs.len() - 1;
            return Err(format!(
                "{} has {there} directories, not {} that could get files",
                other.name, facts.used
            ));
        }
        let mut chosen: Vec<u32> = (1..other.dirs.len() as u32).collect();
        shuffle(&mut chosen, random);
        for (at, dir) in chosen.iter().enumerate() {
            if at as u64 >= facts.used {
                break;
            }
            holders.push(existing(list, other.dir_path(*dir)));
        }
        for dir in 1..list.dirs.len() as u32 {
            let depth = list.dir_path(dir).split('/').count();
            at_depth.resize_with(at_depth.len().max(depth + 1), Vec::new);
            if let Some(level) = at_depth.get_mut(depth) {
                level.push(dir);
            }
        }
    } else if facts.used > 0 {
        return Err("`used` needs a list beside which this one stands".into());
    }
    let first_new = list.dirs.len() as u32;
    for number in 0..facts.dirs as usize {
        let mut depth = if beside.is_none() && number < TOP {
            1
        } else {
            let mut drawn = random.next_u32() as usize % DEPTHS.iter().sum::<usize>();
            let at = DEPTHS.iter().position(|share| {
                let here = drawn < *share;
                drawn = drawn.saturating_sub(*share);
                here
            });
            (at.unwrap_or(0) + 2).min(DEEPEST)
        };
        // Not deeper than there is something to be made in.
        while depth > 1 && at_depth.get(depth - 1).is_none_or(Vec::is_empty) {
            depth -= 1;
        }
        let parents = at_depth.get(depth - 1).map_or(&[0][..], Vec::as_slice);
        let parent = parents.get(random.next_u32() as usize % parents.len().max(1)).copied().unwrap_or(0);
        let path = below(list.dir_path(parent), &format!("{}{number}", word(random, 1, 4)));
        let dir = list.add_dir(parent, &path, true);
        at_depth.resize_with(at_depth.len().max(depth + 1), Vec::new);
        if let Some(level) = at_depth.get_mut(depth) {
            level.push(dir);
        }
    }
    // Each new one holds files, so that each is made; a list of its own has some at the top as well.
    holders.extend(first_new..list.dirs.len() as u32);
    if beside.is_none() {
        holders.push(0);
    }
    // New files that have no directory lie in the tree itself.
    if holders.is_empty() && facts.files > facts.replaces {
        holders.push(0);
    }
    // Directory by directory, from the top.
    holders.sort_unstable_by(|a, b| list.dir_path(*a).cmp(list.dir_path(*b)));
    Ok(holders)
}

/// Files of each directory: as in a source tree, and together exactly so many.
fn per_directory(directories: usize, files: u64) -> Result<Vec<u64>, String> {
    if directories == 0 {
        return if files == 0 { Ok(Vec::new()) } else { Err("files need a directory".into()) };
    }
    let even = files / directories as u64;
    sample(FILES_A_DIRECTORY, directories, files).or_else(|_| {
        // Fewer or more than that shape allows: all alike.
        let more = files % directories as u64;
        Ok((0..directories as u64).map(|at| even + u64::from(at < more)).collect())
    })
}

/// So many numbers with these quantiles and exactly this sum, rising.
///
/// Between two points values lie on a power of the fraction; one exponent for all makes the sum
/// right, so that every point keeps its value.
pub fn sample(points: &[(f64, u64)], count: usize, total: u64) -> Result<Vec<u64>, String> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Err("no quantiles".into());
    };
    if count == 0 {
        return if total == 0 { Ok(Vec::new()) } else { Err(format!("{total} bytes in no file")) };
    }
    if count == 1 {
        // One number says nothing of quantiles but their ends.
        return match (first.1..=last.1).contains(&total) {
            true => Ok(vec![total]),
            false => Err(format!("{total} bytes in one file of {} to {}", first.1, last.1)),
        };
    }
    let value = |at: usize, power: f64| -> (u64, u64, u64) {
        if at == 0 {
            return (first.1, first.1, first.1);
        }
        if at + 1 == count {
            return (last.1, last.1, last.1);
        }
        let p = (at as f64 + 0.5) / count as f64;
        let after = points.iter().position(|(q, _)| *q >= p).unwrap_or(points.len() - 1).max(1);
        let (Some((p0, v0)), Some((p1, v1))) = (points.get(after - 1), points.get(after)) else {
            return (last.1, last.1, last.1);
        };
        // Empty files are those of the points, no others.
        let least = if *v0 == 0 && *v1 > 0 { 1 } else { *v0 };
        let t = if p1 > p0 { (p - p0) / (p1 - p0) } else { 1.0 };
        let drawn = *v0 as f64 + (*v1 as f64 - *v0 as f64) * t.powf(power);
        ((drawn.round() as u64).clamp(least, *v1), least, *v1)
    };
    let sum = |power: f64| (0..count).map(|at| value(at, power).0).sum::<u64>();
    let (mut low, mut high) = (1e-3, 1e3);
    if total > sum(low) || total < sum(high) {
        return Err(format!(
            "{count} numbers with these quantiles come to between {} and {} together, not {total}",
            sum(high),
            sum(low)
        ));
    }
    for _ in 0..100 {
        let middle = f64::sqrt(low * high);
        if sum(middle) > total { low = middle } else { high = middle }
    }
    let mut all: Vec<(u64, u64, u64)> = (0..count).map(|at| value(at, high)).collect();
    let mut missing = total as i128 - all.iter().map(|v| i128::from(v.0)).sum::<i128>();
    // What rounding and the last step of the exponent leave is spread over those that have room.
    while missing != 0 {
        let before = missing;
        let share = (missing.unsigned_abs() as u64 / count as u64).max(1);
        for (number, least, most) in &mut all {
            if missing > 0 {
                let more = share.min(*most - *number).min(missing as u64);
                *number += more;
                missing -= i128::from(more);
            } else if missing < 0 {
                let less = share.min(*number - *least).min(missing.unsigned_abs() as u64);
                *number -= less;
                missing += i128::from(less);
            }
        }
        if missing == before {
            return Err(format!("{count} numbers with these quantiles cannot come to {total} exactly"));
        }
    }
    let mut numbers: Vec<u64> = all.into_iter().map(|v| v.0).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &[(f64, u64)] = &[
        (0.0, 1),
        (0.01, 37),
        (0.05, 159),
        (0.1, 390),
        (0.25, 1303),
        (0.5, 4055),
        (0.75, 11141),
        (0.9, 26112),
        (0.95, 43057),
        (0.99, 97228),
        (0.999, 310443),
        (1.0, 873603),
    ];

    fn clean() -> Dataset {
        let facts = Facts {
            name: "clean",
            files: 21280,
            dirs: 1263,
            used: 0,
            replaces: 0,
            bytes: 233_176_153,
            sizes: CLEAN,
            order: ListOrder::AsIs,
            arrange: Arrange::Grown,
        };
        grow(&facts, None).unwrap()
    }

    fn quantile(sizes: &[u64], p: f64) -> u64 {
        sizes[((sizes.len() as f64 * p) as usize).min(sizes.len() - 1)]
    }

    #[test]
    fn a_source_tree_has_the_totals_and_quantiles_of_a_real_one() {
        let list = clean();
        assert_eq!((list.files.len(), list.dirs.len() - 1, list.bytes()), (21280, 1263, 233_176_153));
        let mut sizes: Vec<u64> = list.files.iter().map(|file| file.size).collect();
        sizes.sort_unstable();
        assert_eq!((sizes[0], *sizes.last().unwrap()), (1, 873_603));
        for (p, expected) in &CLEAN[1..11] {
            let found = quantile(&sizes, *p) as f64;
            assert!((found / *expected as f64 - 1.0).abs() < 0.05, "{p}: {found}, not {expected}");
        }
        let paths: std::collections::HashSet<&str> = list.files.iter().map(|file| list.path(file)).collect();
        assert_eq!(paths.len(), 21280, "each once");
        assert!(paths.iter().all(|path| path.len() <= 70 && path.split('/').count() <= DEEPEST + 1));
        // Each file is in its directory, each directory in the one above.
        for file in &list.files {
            let parent = list.path(file).rsplit_once('/').map_or("", |(parent, _)| parent);
            assert_eq!(parent, list.dir_path(file.dir));
        }
        for (at, dir) in list.dirs.iter().enumerate().skip(1) {
            let path = list.dir_path(at as u32);
            assert_eq!(path.rsplit_once('/').map_or("", |(parent, _)| parent), list.dir_path(dir.parent));
            assert!((dir.parent as usize) < at);
        }
        assert_eq!(list, clean(), "the same everywhere");
    }

    #[test]
    fn a_list_beside_another_uses_its_directories_and_adds_its_own() {
        let clean = clean();
        let sizes: &[(f64, u64)] = &[
            (0.0, 0),
            (0.12565, 0),
            (0.25, 8313),
            (0.5, 14813),
            (0.75, 110_360),
            (0.9, 197_944),
            (0.95, 318_120),
            (0.99, 2_821_150),
            (0.999, 47_375_483),
            (1.0, 64_081_981),
        ];
        let facts = Facts {
            name: "objects",
            files: 3263,
            dirs: 247,
            used: 130,
            replaces: 0,
            bytes: 713_696_760,
            sizes,
            order: ListOrder::AsIs,
            arrange: Arrange::Shuffled,
        };
        let list = grow(&facts, Some(&clean)).unwrap();
        assert_eq!((list.files.len(), list.bytes(), list.new_dirs()), (3263, 713_696_760, 247));
        assert_eq!(list.files.iter().filter(|file| file.size == 0).count(), 410);
        let holds = |new: bool| {
            let dirs: std::collections::HashSet<u32> = list.files.iter().map(|file| file.dir).collect();
            dirs.iter().filter(|dir| list.dirs[**dir as usize].new == new).count()
        };
        assert_eq!((holds(true), holds(false)), (247, 130));
        let patch = Facts {
            name: "patch",
            files: 100,
            dirs: 2,
            used: 3,
            replaces: 60,
            bytes: 100_000,
            sizes: &[(0.0, 1), (1.0, 4000)],
            ..facts
        };
        let list = grow(&patch, Some(&clean)).unwrap();
        let known: std::collections::HashSet<&str> =
            clean.files.iter().map(|file| clean.path(file)).collect();
        assert_eq!(list.files.iter().filter(|file| known.contains(list.path(file))).count(), 60);
        assert_eq!(list.bytes(), 100_000);
    }

    #[test]
    fn new_files_without_a_directory_lie_in_the_tree_itself() {
        let mut flat = Dataset::new("flat", ListOrder::AsIs);
        flat.add_file(0, "one", 5000);
        let facts = Facts {
            name: "objects",
            files: 3,
            dirs: 0,
            used: 0,
            replaces: 1,
            bytes: 9,
            sizes: &[(0.0, 1), (1.0, 7)],
            order: ListOrder::AsIs,
            arrange: Arrange::Grown,
        };
        let list = grow(&facts, Some(&flat)).unwrap();
        assert_eq!((list.files.len(), list.dirs.len(), list.bytes()), (3, 1, 9));
        assert!(list.files.iter().all(|file| file.dir == 0 && !list.path(file).contains('/')));
        let all_replaced = Facts { files: 1, bytes: 5, ..facts };
        assert_eq!(grow(&all_replaced, Some(&flat)).unwrap().files.len(), 1);
    }

    #[test]
    fn numbers_that_round_together_share_what_is_left() {
        // Four numbers between each two points, all four times at the same places: those of a place
        // round up at the same exponent, so that no exponent gives the sums between.
        let points = &[(0.0, 16), (0.25, 20), (0.5, 24), (0.75, 28), (1.0, 32)];
        let of = |total| sample(points, 16, total);
        // All as low as the points let them be, and all as high.
        let (least, most) = (4 * (16 + 20 + 24 + 28) + 4, 4 * (20 + 24 + 28 + 32) - 4);
        let mut handed_out = 0;
        for total in least..=most {
            let numbers = of(total).unwrap();
            assert_eq!((numbers.len(), numbers.iter().sum::<u64>()), (16, total));
            assert_eq!((numbers[0], numbers[15]), (16, 32), "the ends keep their values");
            for (at, number) in numbers.iter().enumerate() {
                let below = 16 + at as u64 / 4 * 4;
                assert!((below..=below + 4).contains(number), "{total}: {numbers:?}");
            }
            // The first and the last of a place differ by what lies between their points, unless they
            // were given different shares of what was left.
            handed_out += usize::from((1..3).any(|at| numbers[at + 12] - numbers[at] != 12));
        }
        assert!(handed_out >= 20, "{handed_out} of {}", most - least + 1);
        assert!(of(least - 1).is_err() && of(most + 1).is_err());
    }

    #[test]
    fn facts_that_do_not_fit_together_are_told() {
        let facts = Facts {
            name: "a",
            files: 10,
            dirs: 2,
            used: 0,
            replaces: 0,
            bytes: 1_000_000,
            sizes: &[(0.0, 1), (1.0, 10)],
            order: ListOrder::AsIs,
            arrange: Arrange::Grown,
        };
        assert!(grow(&facts, None).unwrap_err().contains("not 1000000"));
        assert!(
            grow(&Facts { bytes: 50, dirs: 20, ..facts.clone() }, None).unwrap_err().contains("directories")
        );
        assert!(grow(&Facts { bytes: 50, replaces: 3, ..facts.clone() }, None).is_err());
        assert!(grow(&Facts { bytes: 50, used: 1, ..facts }, None).is_err());
        assert_eq!(sample(&[(0.0, 5), (1.0, 5)], 4, 20).unwrap(), [5, 5, 5, 5]);
    }
}
